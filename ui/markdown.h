/*
 * markdown.h - Markdown laid out as styled lines, whole or while it grows. Pure functions, no curses.
 *
 * md4c parses; single newlines stay line breaks, as people expect of a chat, and HTML is shown as text. Code is shown
 * verbatim, and so are formulas (formula.h). Text is cleaned (text.h), what entities stand for too.
 */
#ifndef UI_MARKDOWN_H
#define UI_MARKDOWN_H

#include "lines.h"

#include <stdbool.h>
#include <stddef.h>

struct markdown_options {
    int width;  /* cells of a line */
    bool ascii; /* no line drawing characters, for screen readers and dumb terminals */
};

extern const unsigned markdown_flags; /* of md4c: which dialect is read */

/* Lays out raw[from..to) at the end of out; the lines' src are offsets in raw. */
void markdown_layout(const char *raw, size_t from, size_t to, const struct markdown_options *options,
                     struct lines *out);

/* While text grows: the last place >= from where a top-level block begins that no later text can change the
 * blocks before. Layout of [from, there) and [there, n) with an empty line between is that of the whole. */
size_t markdown_closed(const char *raw, size_t n, size_t from);

#endif
