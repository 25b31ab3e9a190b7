/* xalloc.h - small allocations that cannot reasonably fail: out of memory ends the program with one line.
 * Weights and KV caches are not small: they are allocated where their failure can be reported. */
#ifndef ENGINE_XALLOC_H
#define ENGINE_XALLOC_H

#include <stddef.h>

void *xmalloc(size_t bytes);
void *xcalloc(size_t n, size_t size);
void *xrealloc(void *p, size_t n, size_t size); /* n x size bytes, overflow checked */
void *xchecked(void *p, size_t bytes);          /* p, allocated elsewhere, unless it is NULL and bytes is not 0 */
char *xstrndup(const char *s, size_t n);

#endif
