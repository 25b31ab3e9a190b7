/*
 * text.h - what may be drawn, how wide it is, and where its characters begin and end. Pure functions, no curses.
 *
 * Text comes in two kinds. Raw text is what was typed, pasted or generated: any bytes. Clean text is a copy made for
 * drawing: valid UTF-8 in which every code point has a width the terminal and wcwidth agree on, and nothing that a
 * terminal would obey. Widths come from wcwidth alone, because ncurses lays its cells out with it: the locale must be
 * a UTF-8 one.
 */
#ifndef UI_TEXT_H
#define UI_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The code point at s (n > 0) and its length in bytes; a malformed sequence is U+FFFD and at least one byte long. */
size_t text_decode(const char *s, size_t n, uint32_t *cp);
size_t text_encode(uint32_t cp, char out[4]); /* length in bytes; what is no code point becomes U+FFFD */

struct cleaned {
    char *s;
    uint32_t *origin; /* n + 1 of them: offset in the raw text that the byte comes from; the last is its length */
    size_t n;
};

/* Makes the clean copy: C0 controls become their pictures (ESC is U+241B), C1 and unprintables U+FFFD; ZWJ, variation
 * selectors, skin tones and invisible formatting (with it the direction overrides) are dropped; tabs become spaces to
 * the next multiple of 4; CR LF and the Unicode separators become a newline; a mark without a base gets a dotted
 * circle, and more marks than a curses cell holds are dropped. */
void text_clean(const char *s, size_t n, struct cleaned *out);
void cleaned_free(struct cleaned *c);

/* The clean copy as a string; newlines become spaces with one_line. malloc'd. */
char *text_clean_string(const char *s, size_t n, bool one_line);

/* ---- clean text ---- */

int text_width(const char *s, size_t n); /* in cells; newlines count 0 */

/* The cell at s (n > 0): a spacing character and its marks. Returns its bytes. */
size_t text_cell(const char *s, size_t n, int *width);

/* How many bytes of s fit into width cells, whole cells only; used gets their width. */
size_t text_fit(const char *s, size_t n, int width, int *used);

/* Copies s into out (cap bytes), cut to width cells with "…" at its end if it had to be cut. Returns the width. */
int text_ellipsis(const char *s, int width, char *out, size_t cap);

/* Words of any text, as word processors count them: what stands between spaces, and each character of Chinese and
 * Japanese. */
size_t text_words(const char *s, size_t n);

/* ---- valid UTF-8 (raw text made valid by text_valid) ---- */

/* A copy fit for the draft: malformed bytes are U+FFFD, CR and CR LF a newline, other controls but tab dropped. */
char *text_valid(const char *s, size_t n, size_t *out_n);

size_t text_next(const char *s, size_t n, size_t at);      /* the grapheme boundary after at */
size_t text_prev(const char *s, size_t n, size_t at);      /* before at */
size_t text_word_next(const char *s, size_t n, size_t at); /* the end of the word at or after at */
size_t text_word_prev(const char *s, size_t n, size_t at); /* the beginning of the word before at */

/* The first match of needle at or after from, whatever the case and the encoding of accents (../src/base/fold.h).
 * Returns false if there is none. */
bool text_find(const char *s, size_t n, const char *needle, size_t needle_n, size_t from, size_t *start, size_t *end);

#endif
