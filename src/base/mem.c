/* mem.c - see mem.h. */
#include "mem.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* abort, not exit: exit handlers would touch the screen from whichever thread this is. */
static _Noreturn void out_of_memory(size_t n, size_t size)
{
    if (size > 1)
        fprintf(stderr, "chinwag: out of memory (%zu x %zu bytes)\n", n, size);
    else
        fprintf(stderr, "chinwag: out of memory (%zu bytes)\n", n);
    abort();
}

void *mem_new(size_t n, size_t size)
{
    void *p = calloc(n ? n : 1, size ? size : 1); /* calloc checks the product */
    if (!p)
        out_of_memory(n, size);
    return p;
}

void *mem_alloc(size_t bytes)
{
    void *p = malloc(bytes ? bytes : 1);
    if (!p)
        out_of_memory(bytes, 1);
    return p;
}

void *mem_resize(void *p, size_t n, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(n, size, &bytes))
        out_of_memory(n, size);
    p = realloc(p, bytes ? bytes : 1);
    if (!p)
        out_of_memory(n, size);
    return p;
}

void *mem_check(void *p, size_t bytes)
{
    if (!p && bytes)
        out_of_memory(bytes, 1);
    return p;
}

void *mem_grow(void *p, size_t *cap, size_t need, size_t size)
{
    if (need <= *cap)
        return p;
    size_t n = *cap + *cap / 2 + 16;
    if (n < need)
        n = need;
    p = mem_resize(p, n, size);
    *cap = n;
    return p;
}

void *mem_append(void *array, size_t n, size_t size)
{
    if (n & (n - 1))
        return array;
    size_t added = n ? n : 1;
    array = mem_resize(array, n + added, size);
    memset((char *)array + n * size, 0, added * size);
    return array;
}

char *mem_copy(const char *s, size_t n)
{
    char *copy = mem_alloc(n + 1);
    if (n)
        memcpy(copy, s, n);
    copy[n] = '\0';
    return copy;
}

char *mem_string(const char *s)
{
    return s ? mem_copy(s, strlen(s)) : NULL;
}

char *mem_string_or_empty(const char *s)
{
    return mem_string(s ? s : "");
}

char *mem_printf(const char *format, ...)
{
    char *s = NULL;
    va_list args;
    va_start(args, format);
    int n = vasprintf(&s, format, args);
    va_end(args);
    if (n < 0)
        out_of_memory(strlen(format), 1);
    return s;
}
