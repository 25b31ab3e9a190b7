/* xalloc.c - see xalloc.h. */
#include "xalloc.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *xchecked(void *p, size_t bytes)
{
    if (!p && bytes) {
        fprintf(stderr, "chinwag: out of memory (%zu bytes)\n", bytes);
        abort();
    }
    return p;
}

void *xmalloc(size_t bytes)
{
    return xchecked(malloc(bytes ? bytes : 1), bytes);
}

void *xcalloc(size_t n, size_t size)
{
    return xchecked(calloc(n ? n : 1, size ? size : 1), n && size ? SIZE_MAX : 0);
}

void *xrealloc(void *p, size_t n, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(n, size, &bytes))
        return xchecked(NULL, SIZE_MAX);
    return xchecked(realloc(p, bytes ? bytes : 1), bytes);
}

char *xstrndup(const char *s, size_t n)
{
    char *copy = xmalloc(n + 1);
    memcpy(copy, s, n);
    copy[n] = '\0';
    return copy;
}
