/*
 * repetition.h - detects a text being written that repeats itself without end, the usual failure of small models.
 *
 * Four kinds of loops are recognised, each only past an amount that no table, list, poem or program reaches:
 *   - the text ends in one unit (a character, a word, a line, a paragraph) repeated exactly;
 *   - it ends in numbered lines that differ in their number alone ("27. Apples", "28. Apples", ...);
 *   - it ends in many lines of which only a few are distinct;
 *   - it ends in hundreds of words made of a few phrases.
 * Inside a code fence, where repetition is common, the limits are higher and the last two kinds do not count. What the
 * question asks for ("write it 100 times") does not count either, up to the number it names. Pure functions.
 */
#ifndef REPETITION_H
#define REPETITION_H

#include <stdbool.h>
#include <stddef.h>

/* Whether the text (UTF-8, of any content) ends in a loop. question is the message it answers, or NULL. The time is
 * linear in len with a small factor (0.3 ms for 64 KB): call it every few tokens, not for each. */
bool repetition_found(const char *text, size_t len, const char *question);

#endif
