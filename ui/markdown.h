/*
 * markdown.h - lays out Markdown as styled lines, complete or while it grows. Pure functions, no curses.
 *
 * md4c is the parser. Single newlines stay line breaks, as usual in a chat, and HTML is shown as text. Code and
 * formulas (formula.h) are shown verbatim. Text and decoded entities are cleaned (text.h).
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

extern const unsigned markdown_flags; /* md4c parser flags that select the dialect */

/* Lays out raw[from..to) and appends the lines to out; their src are offsets in raw. */
void markdown_layout(const char *raw, size_t from, size_t to, const struct markdown_options *options,
                     struct lines *out);

/* For text that grows: returns the last offset >= from at which a top-level block begins and before which no later text
 * can change the layout. Laying out [from, offset) and [offset, n) with an empty line between equals laying out all. */
size_t markdown_closed(const char *raw, size_t n, size_t from);

#endif
