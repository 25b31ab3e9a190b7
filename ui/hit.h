/*
 * hit.h - one line of a search result, cut so that what was searched for is in view. Pure functions, no curses.
 */
#ifndef UI_HIT_H
#define UI_HIT_H

#include "lines.h"

/* Lays text (clean, one line) out as one line of at most width cells. The words of query are highlighted, and where the
 * text is too long it is cut at both ends around the first of them. style: of the rest. */
void hit_layout(const char *text, const char *query, int width, unsigned style, struct lines *out);

#endif
