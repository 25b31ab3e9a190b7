/*
 * mem.h - memory of the screen's room: small things only, so running out of it ends the program with one line.
 *
 * A struct buf is a growing byte string, empty when zeroed, NUL-terminated as soon as anything was added to it.
 */
#ifndef UI_MEM_H
#define UI_MEM_H

#include <stddef.h>

/* Makes room for `need` elements of `size` bytes in p, growing geometrically; cap is updated. Never NULL. */
void *mem_grow(void *p, size_t *cap, size_t need, size_t size);
void *mem_zalloc(size_t size);
char *mem_strdup(const char *s); /* NULL is copied as "" */

struct buf {
    char *s;
    size_t n, cap;
};

void buf_add(struct buf *b, const char *s, size_t n);
void buf_str(struct buf *b, const char *s);
void buf_printf(struct buf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
void buf_insert(struct buf *b, size_t at, const char *s, size_t n);
void buf_remove(struct buf *b, size_t at, size_t n);
void buf_clear(struct buf *b);                        /* empties, keeps the memory; s is "" afterwards */
void buf_set(struct buf *b, const char *s, size_t n); /* s must not point into b */
const char *buf_cstr(const struct buf *b);            /* never NULL */
void buf_free(struct buf *b);

#endif
