/*
 * fold.h - finding text as people see it: letter case, and how an accent is encoded, do not matter.
 *
 * Text is compared unit by unit. A unit is a code point of the text's canonical decomposition (NFD) after full case
 * folding (Unicode 3.13): "ß" is "ss", "Σ" and "ς" are "σ". A term without an accent finds the letter with any accent
 * (cafe finds café, muller finds Müller); a term with an accent finds that accent only. Marks that make another letter,
 * not an accented one, always count: the voicing of kana, a nukta, the jamo of a Hangul syllable.
 *
 * Pure functions on UTF-8; a malformed byte is U+FFFD. Any thread.
 */
#ifndef BASE_FOLD_H
#define BASE_FOLD_H

#include <stdbool.h>
#include <stddef.h>

struct fold_term; /* a text to look for, prepared once */

struct fold_term *fold_term_new(const char *s, size_t n); /* copies what it needs; free with fold_term_free */
void fold_term_free(struct fold_term *t);                 /* NULL is fine */
size_t fold_term_units(const struct fold_term *t);        /* its units without accents */

/* The first place at or after byte `from` where the term occurs: bytes *start to *end, the accents of its last letter
 * included. Returns false if there is none, or if the term is empty. */
bool fold_find(const struct fold_term *t, const char *s, size_t n, size_t from, size_t *start, size_t *end);

/* The units of a text without its accents, as UTF-8 and NUL-terminated: where fold_find finds a term in a text, the
 * term's units are a substring of the text's units. malloc'd; *out_n gets its length. */
char *fold_units(const char *s, size_t n, size_t *out_n);

#endif
