/*
 * formula.h - TeX formulas in Markdown. Pure functions, no curses.
 *
 * Markdown takes `\,` for an escaped comma and `a_1*b_1` for emphasis, so formulas are hidden from the parser and drawn
 * from the source. A formula stands in $...$, $$...$$, \(...\), \[...\] or \begin{x}...\end{x} and holds no empty line
 * and no code.
 */
#ifndef UI_FORMULA_H
#define UI_FORMULA_H

#include <stddef.h>

/* Overwrites the ASCII punctuation of every formula in clean Markdown by letters, which a Markdown parser leaves alone;
 * all offsets stay. A formula that the end of the text cuts off counts. "$5 and $10" is none: $ opens only before and
 * closes only after a character that is no space, and next to no letter or digit outside. */
void formula_hide(char *s, size_t n);

#endif
