/*
 * resume.h - which conversation `--resume TEXT` means: one by its number or by its title.
 *
 * A conversation's number is the end of its ID in decimal: four digits, or more where another conversation's ID ends
 * with the same four (as git abbreviates hashes, from the other end). So it is short and stays valid; once a newer
 * conversation shares it, it is ambiguous, and longer ones tell the two apart. The whole ID is always valid.
 */
#ifndef RESUME_H
#define RESUME_H

#include "../data/store.h"

#include <stdbool.h>
#include <stddef.h>

#define RESUME_DIGITS 4
#define RESUME_NUMBER_MAX 24 /* room for a number and its NUL */

/* Writes the number of each conversation of a list. */
void resume_numbers(const struct store_conversation *list, size_t n, char (*numbers)[RESUME_NUMBER_MAX]);

/* Finds the one conversation of a list that text names: by its ID or number, by its whole title, or by a part of its
 * title, in this order; case, composed and decomposed letters make no difference. Returns its ID; 0 and a sentence in
 * err where there is none, or several: the sentence names them. */
store_id resume_choose(const char *text, const struct store_conversation *list, size_t n, char *err, size_t cap);

#endif
