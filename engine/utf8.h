/*
 * utf8.h - UTF-8 as it comes from people and models: often split, sometimes wrong.
 *
 * What is invalid becomes U+FFFD, one for each "maximal subpart" (The Unicode Standard, 3.9, table 3-7), which is
 * what Python's "replace" and the web's decoders do.
 */
#ifndef UTF8_H
#define UTF8_H

#include "engine.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UTF8_REPLACEMENT 0xFFFD

enum utf8_kind {
    UTF8_VALID,
    UTF8_INVALID,    /* *len bytes that cannot start a character */
    UTF8_UNFINISHED, /* the n bytes given are the start of a character */
};

/* Looks at the sequence at s (n >= 1 bytes): *len is its length, *cp its code point (U+FFFD unless valid). */
enum utf8_kind utf8_decode(const unsigned char *s, size_t n, uint32_t *cp, size_t *len);

/* The same for complete text, where an unfinished sequence is an invalid one. Returns the code point. */
uint32_t utf8_next(const unsigned char *s, size_t n, size_t *len);

/* The UTF-8 of a code point into out (4 bytes); returns its length. */
size_t utf8_encode(uint32_t cp, char *out);

bool utf8_is_valid(const char *s, size_t n);

/* A copy of s with what is invalid replaced; *out_n is its length. free() it. */
char *utf8_repair(const char *s, size_t n, size_t *out_n);

/* Text of unknown origin made fit to be shown: one line, nothing a terminal would obey. Control characters (C0, DEL,
 * C1) become spaces, what is invalid U+FFFD; it is cut before the first character that has no room. out gets at most
 * cap - 1 bytes and a NUL (cap >= 1). Returns how many bytes of s that shows. */
size_t utf8_clean(const char *s, size_t n, char *out, size_t cap);

/* The core of engine_stream_push: appends bytes to what stream holds and writes the whole characters into out, which
 * has room for cap bytes (>= 8 + 3 x n for all of them; with less, the rest is lost). NUL-terminated; returns the
 * length. */
size_t utf8_stream(struct engine_stream *stream, const char *bytes, size_t n, char *out, size_t cap);

#endif
