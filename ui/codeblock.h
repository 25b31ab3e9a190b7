/*
 * codeblock.h - the fenced code blocks of an answer as source text, for copying. Pure functions, no curses.
 */
#ifndef UI_CODEBLOCK_H
#define UI_CODEBLOCK_H

#include "../src/base/buffer.h"

#include <stddef.h>

/* Returns how many code blocks raw Markdown holds, and replaces out by the text of one of them: the number-th, from 1,
 * or the last if number is 0. out is empty where there is no such block. The text has neither fences nor the
 * indentation of a list or quote around it; tabs stay, and every line ends in a newline. A block whose closing fence
 * has not come yet counts. */
size_t codeblock_read(const char *raw, size_t n, size_t number, struct buffer *out);

#endif
