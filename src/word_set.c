/* word_set.c - see word_set.h. */
#include "word_set.h"

#include "base/mem.h"

#include <stdlib.h>

/* The slot that holds the hash, or the empty one it belongs into. */
static size_t slot_of(const struct word_set *set, uint64_t hash)
{
    size_t mask = set->cap - 1, at = (size_t)(hash * 0x9e3779b97f4a7c15u >> 32) & mask; /* Fibonacci hashing */
    while (set->slots[at] && set->slots[at] != hash)
        at = (at + 1) & mask;
    return at;
}

static void grow(struct word_set *set)
{
    struct word_set larger = {.cap = set->cap ? set->cap * 2 : 256, .n = set->n, .has_zero = set->has_zero};
    larger.slots = mem_new(larger.cap, sizeof *larger.slots);
    for (size_t i = 0; i < set->cap; i++)
        if (set->slots[i])
            larger.slots[slot_of(&larger, set->slots[i])] = set->slots[i];
    free(set->slots);
    *set = larger;
}

bool word_set_add(struct word_set *set, uint64_t hash)
{
    if (word_set_has(set, hash))
        return false;
    if (!hash) {
        set->has_zero = true;
        return true;
    }
    if ((set->n + 1) * 2 > set->cap)
        grow(set);
    set->slots[slot_of(set, hash)] = hash;
    set->n++;
    return true;
}

bool word_set_has(const struct word_set *set, uint64_t hash)
{
    if (!hash)
        return set->has_zero;
    return set->cap && set->slots[slot_of(set, hash)];
}

void word_set_add_text(struct word_set *set, struct slice text)
{
    struct words words = words_of(text);
    struct word word;
    while (next_word(&words, &word))
        word_set_add(set, word.hash);
}

void word_set_add_stems(struct word_set *set, struct slice text)
{
    struct words words = words_of(text);
    struct word word;
    while (next_word(&words, &word))
        word_set_add(set, word_stem(&word));
}

void word_set_free(struct word_set *set)
{
    free(set->slots);
    *set = (struct word_set){0};
}
