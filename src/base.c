/* base.c - see base.h. */
#include "base.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void *checked(void *p)
{
    if (!p) {
        fputs("chinwag: out of memory\n", stderr);
        abort();
    }
    return p;
}

static size_t checked_product(size_t n, size_t size)
{
    if (size && n > SIZE_MAX / size)
        checked(NULL);
    return n * size;
}

void *mem_new(size_t n, size_t size)
{
    return checked(calloc(n ? n : 1, size ? size : 1)); /* calloc checks the product */
}

void *mem_resize(void *p, size_t n, size_t size)
{
    size_t bytes = checked_product(n, size);
    return checked(realloc(p, bytes ? bytes : 1));
}

char *mem_copy(const char *s, size_t n)
{
    char *copy = mem_resize(NULL, n + 1, 1);
    if (n)
        memcpy(copy, s, n);
    copy[n] = '\0';
    return copy;
}

char *mem_string(const char *s)
{
    return s ? mem_copy(s, strlen(s)) : NULL;
}

uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t n)
{
    const unsigned char *byte = bytes;
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ byte[i]) * 0x100000001b3u;
    return hash;
}

double clock_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

int wait_until_ms(double moment)
{
    double left = moment - clock_ms();
    return left <= 0 ? 0 : (int)left + 1;
}

int wait_shorter(int a, int b)
{
    return a < 0 ? b : b < 0 || a < b ? a : b;
}
