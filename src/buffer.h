/*
 * buffer.h - a string that grows.
 *
 * Initialise with {0}. `s` is NULL until something is added, NUL-terminated from then on (it may hold NULs as well:
 * `len` decides). Give it back with buffer_free, or take the string with buffer_take.
 */
#ifndef BUFFER_H
#define BUFFER_H

#include <stdbool.h>
#include <stddef.h>

#define TEXT_MAX (64u << 20) /* bytes of a text read whole: far more than any window holds */

struct buffer {
    char *s;
    size_t len, cap;
};

void buffer_add(struct buffer *b, const char *s, size_t n);
void buffer_puts(struct buffer *b, const char *s);
void buffer_printf(struct buffer *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Adds what can be read from fd, to its end. False and errno where that fails; EFBIG once there are more than max
 * bytes. */
bool buffer_read(struct buffer *b, int fd, size_t max);
void buffer_cut(struct buffer *b, size_t len); /* keeps the first len bytes; nothing if there are fewer */
char *buffer_take(struct buffer *b);           /* the string, never NULL, for the caller to free; b is empty again */
void buffer_free(struct buffer *b);

#endif
