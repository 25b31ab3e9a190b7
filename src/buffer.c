/* buffer.c - see buffer.h. */
#include "buffer.h"

#include "base.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void buffer_add(struct buffer *b, const char *s, size_t n)
{
    if (b->len + n + 1 > b->cap) {
        b->cap = (b->len + n + 1) * 2;
        b->s = mem_resize(b->s, b->cap, 1);
    }
    if (n)
        memcpy(b->s + b->len, s, n);
    b->len += n;
    b->s[b->len] = '\0';
}

void buffer_puts(struct buffer *b, const char *s)
{
    buffer_add(b, s, strlen(s));
}

void buffer_printf(struct buffer *b, const char *format, ...)
{
    va_list args;
    char *text = NULL;
    va_start(args, format);
    int n = vasprintf(&text, format, args);
    va_end(args);
    if (n < 0) /* as good as always for want of memory */
        return;
    buffer_add(b, text, (size_t)n);
    free(text);
}

bool buffer_read(struct buffer *b, int fd, size_t max)
{
    char chunk[65536];
    ssize_t n;
    while ((n = read(fd, chunk, sizeof chunk)) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        buffer_add(b, chunk, (size_t)n);
        if (b->len > max) {
            errno = EFBIG;
            return false;
        }
    }
    return true;
}

void buffer_cut(struct buffer *b, size_t len)
{
    if (len < b->len) {
        b->len = len;
        b->s[len] = '\0';
    }
}

char *buffer_take(struct buffer *b)
{
    buffer_add(b, "", 0);
    char *s = b->s;
    *b = (struct buffer){0};
    return s;
}

void buffer_free(struct buffer *b)
{
    free(b->s);
    *b = (struct buffer){0};
}
