/*
 * word_set.h - a growing set of 64-bit hashes: the words, or the phrases, of a text.
 *
 *   struct word_set set = {0};
 *   word_set_add_text(&set, span);
 *   if (word_set_has(&set, word.hash)) ...
 *   word_set_free(&set);
 */
#ifndef WORD_SET_H
#define WORD_SET_H

#include "summary_text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct word_set { /* open addressing; initialise with {0} */
    uint64_t *slots;
    size_t n, cap; /* cap: slots, a power of two or 0 */
    bool has_zero; /* a hash of 0 marks an empty slot, so it is kept here */
};

bool word_set_add(struct word_set *set, uint64_t hash); /* false: it was there already */
bool word_set_has(const struct word_set *set, uint64_t hash);
void word_set_add_text(struct word_set *set, struct slice text);  /* the hashes of its words */
void word_set_add_stems(struct word_set *set, struct slice text); /* their word_stem */
void word_set_free(struct word_set *set);

#endif
