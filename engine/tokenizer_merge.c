/* tokenizer_merge.c - joins neighbouring pieces of a word, best pair first: a heap of pairs over a linked list. */
#include "../src/base/mem.h"
#include "tokenizer_impl.h"

#include <stdlib.h>

/* A pair as it was when it was found. It is stale, and skipped, when one of its halves has grown since. */
struct pair {
    uint32_t rank;
    int32_t left;         /* index of the left piece; among equals the leftmost goes first */
    uint32_t middle, end; /* where its halves ended */
    int32_t id;           /* of the whole */
};

struct heap {
    struct pair *pairs;
    size_t n, cap;
};

static bool before(const struct pair *a, const struct pair *b)
{
    return a->rank != b->rank ? a->rank < b->rank : a->left < b->left;
}

static void push(struct heap *h, struct pair pair)
{
    if (h->n == h->cap)
        h->pairs = mem_resize(h->pairs, h->cap = h->cap ? h->cap * 2 : 256, sizeof *h->pairs);
    size_t i = h->n++;
    for (; i > 0 && before(&pair, &h->pairs[(i - 1) / 2]); i = (i - 1) / 2)
        h->pairs[i] = h->pairs[(i - 1) / 2];
    h->pairs[i] = pair;
}

static struct pair pop(struct heap *h)
{
    struct pair top = h->pairs[0], last = h->pairs[--h->n];
    size_t i = 0;
    for (size_t child; (child = 2 * i + 1) < h->n; i = child) {
        if (child + 1 < h->n && before(&h->pairs[child + 1], &h->pairs[child]))
            child++;
        if (!before(&h->pairs[child], &last))
            break;
        h->pairs[i] = h->pairs[child];
    }
    h->pairs[i] = last;
    return top;
}

static void try_pair(const struct tokenizer *t, const char *word, const struct piece *pieces, int32_t left,
                     merge_fn *can_merge, struct heap *h)
{
    if (left < 0 || pieces[left].next < 0)
        return;
    const struct piece *a = &pieces[left], *b = &pieces[a->next];
    struct pair pair = {.left = left, .middle = a->end, .end = b->end};
    if (can_merge(t, word, a, b, &pair.rank, &pair.id))
        push(h, pair);
}

void merge_pieces(const struct tokenizer *t, const char *word, struct piece *pieces, size_t n, merge_fn *can_merge)
{
    struct heap h = {0};
    for (size_t i = 0; i < n; i++) {
        pieces[i].prev = (int32_t)i - 1;
        pieces[i].next = i + 1 < n ? (int32_t)i + 1 : -1;
    }
    for (size_t i = 0; i + 1 < n; i++)
        try_pair(t, word, pieces, (int32_t)i, can_merge, &h);
    while (h.n) {
        struct pair pair = pop(&h);
        struct piece *a = &pieces[pair.left];
        /* A piece that was swallowed has end = 0, which is nobody's middle. */
        if (a->end != pair.middle || a->next < 0 || pieces[a->next].end != pair.end)
            continue;
        struct piece *b = &pieces[a->next];
        a->end = b->end;
        a->id = pair.id;
        a->next = b->next;
        b->end = 0;
        if (a->next >= 0)
            pieces[a->next].prev = pair.left;
        try_pair(t, word, pieces, a->prev, can_merge, &h);
        try_pair(t, word, pieces, pair.left, can_merge, &h);
    }
    free(h.pairs);
}
