/* buffer.c - see buffer.h. */
#include "buffer.h"

#include "mem.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char buffer_empty[1];

/* Makes room for n more bytes and the NUL. */
static void reserve(struct buffer *b, size_t n)
{
    if (!b->cap)
        b->s = NULL;
    b->s = mem_grow(b->s, &b->cap, b->len + n + 1, 1);
}

void buffer_init(struct buffer *b)
{
    *b = (struct buffer)BUFFER_INIT;
}

void buffer_free(struct buffer *b)
{
    if (b->cap)
        free(b->s);
    buffer_init(b);
}

char *buffer_take(struct buffer *b)
{
    buffer_add(b, "", 0);
    char *s = b->s;
    buffer_init(b);
    return s;
}

void buffer_add(struct buffer *b, const char *s, size_t n)
{
    reserve(b, n);
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
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (n > 0) {
        reserve(b, (size_t)n);
        vsnprintf(b->s + b->len, (size_t)n + 1, format, again);
        b->len += (size_t)n;
    }
    va_end(again);
}

void buffer_insert(struct buffer *b, size_t at, const char *s, size_t n)
{
    reserve(b, n);
    memmove(b->s + at + n, b->s + at, b->len - at);
    if (n)
        memcpy(b->s + at, s, n);
    b->len += n;
    b->s[b->len] = '\0';
}

void buffer_remove(struct buffer *b, size_t at, size_t n)
{
    if (!n)
        return;
    memmove(b->s + at, b->s + at + n, b->len - at - n);
    b->len -= n;
    b->s[b->len] = '\0';
}

void buffer_truncate(struct buffer *b, size_t len)
{
    if (len < b->len) {
        b->len = len;
        b->s[len] = '\0';
    }
}

void buffer_clear(struct buffer *b)
{
    buffer_truncate(b, 0);
}

void buffer_set(struct buffer *b, const char *s, size_t n)
{
    buffer_clear(b);
    buffer_add(b, s, n);
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
