/*
 * buffer.h - a growing byte string.
 *
 *     struct buffer b = BUFFER_INIT;
 *     buffer_printf(&b, "%d tokens", n);
 *     use(b.s, b.len);
 *     buffer_free(&b);
 *
 * b.s is never NULL and always ends with a NUL; the bytes may contain NULs too, so b.len decides. A struct that
 * embeds a buffer initializes it with buffer_init. A zeroed buffer is empty as well, except that its s is NULL until
 * the first byte is added.
 */
#ifndef BASE_BUFFER_H
#define BASE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>

#define BUFFER_TEXT_MAX (64u << 20) /* bytes of a text that is read whole: far more than any window holds */

struct buffer {
    char *s;         /* buffer_empty while cap is 0 */
    size_t len, cap; /* bytes used without the NUL, bytes allocated */
};

extern char buffer_empty[1]; /* the "" that every unallocated buffer points to; never written */

#define BUFFER_INIT                                                                                                  \
    {                                                                                                                \
        .s = buffer_empty                                                                                            \
    }

void buffer_init(struct buffer *b);
void buffer_free(struct buffer *b);  /* frees the bytes; b is empty and usable again */
char *buffer_take(struct buffer *b); /* the malloc'd string, for the caller to free; b is empty again */

void buffer_add(struct buffer *b, const char *s, size_t n);
void buffer_puts(struct buffer *b, const char *s);
void buffer_printf(struct buffer *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
void buffer_insert(struct buffer *b, size_t at, const char *s, size_t n); /* before byte `at` */
void buffer_remove(struct buffer *b, size_t at, size_t n);                /* n bytes from byte `at` on */
void buffer_truncate(struct buffer *b, size_t len);         /* keeps the first len bytes, all if there are fewer */
void buffer_clear(struct buffer *b);                        /* empties it and keeps the memory */
void buffer_set(struct buffer *b, const char *s, size_t n); /* s must not point into b */

/* Appends everything that can be read from fd. Returns false with errno set on failure; EFBIG once the buffer holds
 * more than max bytes. */
bool buffer_read(struct buffer *b, int fd, size_t max);

#endif
