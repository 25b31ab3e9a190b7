/*
 * base.h - what every file of this room needs: small allocations that cannot reasonably fail, a hash, a clock.
 *
 * Out of memory ends the program with one line on stderr. Everything returned is freed with free().
 */
#ifndef BASE_H
#define BASE_H

#include <stddef.h>
#include <stdint.h>

void *mem_new(size_t n, size_t size);             /* n x size bytes, zeroed, overflow checked */
void *mem_resize(void *p, size_t n, size_t size); /* realloc to n x size bytes, overflow checked */
char *mem_copy(const char *s, size_t n);          /* n bytes and a NUL */
char *mem_string(const char *s);                  /* NULL stays NULL */

/* FNV-1a, http://www.isthe.com/chongo/tech/comp/fnv/: begins with HASH_START, goes on with each run of bytes. */
#define HASH_START 0xcbf29ce484222325u
uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t n);

double clock_ms(void); /* monotonic milliseconds since some moment */

/* Timeouts for poll: milliseconds until a moment of clock_ms, 0 when it has passed; the shorter of two, -1 = for
 * ever. */
int wait_until_ms(double moment);
int wait_shorter(int a, int b);

#endif
