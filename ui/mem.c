/* mem.c - see mem.h */
#include "mem.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void out_of_memory(size_t bytes)
{
    fprintf(stderr, "chinwag: out of memory (%zu bytes)\n", bytes);
    abort();
}

void *mem_grow(void *p, size_t *cap, size_t need, size_t size)
{
    if (need <= *cap)
        return p;
    size_t n = *cap + *cap / 2 + 16;
    if (n < need)
        n = need;
    if (n > SIZE_MAX / size)
        out_of_memory(SIZE_MAX);
    p = realloc(p, n * size);
    if (!p)
        out_of_memory(n * size);
    *cap = n;
    return p;
}

void *mem_zalloc(size_t size)
{
    void *p = calloc(1, size);
    if (!p)
        out_of_memory(size);
    return p;
}

char *mem_strdup(const char *s)
{
    size_t n = s ? strlen(s) : 0;
    char *copy = mem_zalloc(n + 1);
    if (n)
        memcpy(copy, s, n);
    return copy;
}

void buf_insert(struct buf *b, size_t at, const char *s, size_t n)
{
    b->s = mem_grow(b->s, &b->cap, b->n + n + 1, 1);
    memmove(b->s + at + n, b->s + at, b->n - at);
    if (n)
        memcpy(b->s + at, s, n);
    b->n += n;
    b->s[b->n] = 0;
}

void buf_add(struct buf *b, const char *s, size_t n)
{
    buf_insert(b, b->n, s, n);
}

void buf_str(struct buf *b, const char *s)
{
    buf_add(b, s, strlen(s));
}

void buf_printf(struct buf *b, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (n > 0) {
        b->s = mem_grow(b->s, &b->cap, b->n + (size_t)n + 1, 1);
        vsnprintf(b->s + b->n, (size_t)n + 1, format, again);
        b->n += (size_t)n;
    }
    va_end(again);
}

void buf_remove(struct buf *b, size_t at, size_t n)
{
    if (!n)
        return;
    memmove(b->s + at, b->s + at + n, b->n - at - n);
    b->n -= n;
    b->s[b->n] = 0;
}

void buf_clear(struct buf *b)
{
    b->n = 0;
    buf_add(b, "", 0);
}

void buf_set(struct buf *b, const char *s, size_t n)
{
    buf_clear(b);
    buf_add(b, s, n);
}

const char *buf_cstr(const struct buf *b)
{
    return b->s ? b->s : "";
}

void buf_free(struct buf *b)
{
    free(b->s);
    *b = (struct buf){0};
}
