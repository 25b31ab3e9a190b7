/*
 * hit.h - lays out one line of a search result, cut so that the match is in view. Pure functions, no curses.
 */
#ifndef UI_HIT_H
#define UI_HIT_H

#include "lines.h"

/* Lays out text (clean, no newlines) as one line of at most width cells. Highlights every word of query; a text that
 * is too long is cut on both sides of the first match. style: of the text that does not match. */
void hit_layout(const char *text, const char *query, int width, unsigned style, struct lines *out);

#endif
