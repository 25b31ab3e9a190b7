/*
 * mem.h - small allocations that end the program when memory runs out.
 *
 * Every function either succeeds or prints one line to stderr and aborts, so callers need no check. Everything
 * returned is freed with free(). Large blocks (weights, KV cache) are allocated where their failure can be reported:
 * engine/memory.h.
 */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stddef.h>

void *mem_new(size_t n, size_t size);             /* n x size bytes, zeroed, overflow checked */
void *mem_alloc(size_t bytes);                    /* uninitialized */
void *mem_resize(void *p, size_t n, size_t size); /* realloc to n x size bytes, overflow checked */
void *mem_check(void *p, size_t bytes); /* p, allocated elsewhere; aborts if it is NULL and bytes is not 0 */

/* Makes room for `need` elements of `size` bytes in p, growing geometrically, and updates *cap. New elements are
 * uninitialized. */
void *mem_grow(void *p, size_t *cap, size_t need, size_t size);
/* Makes room for element n of an array that grows by one element at a time and keeps no capacity: it is reallocated
 * when n is 0 or a power of two. New elements are zeroed. */
void *mem_append(void *array, size_t n, size_t size);

char *mem_copy(const char *s, size_t n);  /* n bytes and a NUL */
char *mem_string(const char *s);          /* a copy; NULL stays NULL */
char *mem_string_or_empty(const char *s); /* a copy; NULL is copied as "" */
char *mem_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
