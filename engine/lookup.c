/*
 * lookup.c - see lookup.h.
 *
 * The index is that of a compressor: a table by the hash of N_GRAM tokens leads to the latest place where they end,
 * and from each place a chain leads to the one before. Tokens are added and forgotten at the end only, so forgetting
 * undoes adding exactly.
 */
#include "lookup.h"

#include "../src/base/mem.h"

#include <stdlib.h>
#include <string.h>

#define N_GRAM 3          /* tokens that must match */
#define CHAIN 16          /* places looked at for the longest match */
#define LONGEST 32        /* tokens compared at each */
#define MEMORY 64         /* predictions by which the record of a class of matches is halved, roughly */
#define MARGIN 1.1        /* expected gain below which nothing is drafted: estimates are noisy */
#define BUDGET 3.0        /* evaluations of one token that drafts may lose on credit ... */
#define BUDGET_SHARE .005 /* ... and per token evaluated alone */
#define BUDGET_MOST 16.0
/* Classes of matches by their length, with how often the next token is as predicted before anything is known. */
static const struct {
    int from;
    double rate;
} classes[] = {{3, .2}, {4, .35}, {5, .5}, {7, .6}, {10, .75}, {16, .85}, {24, .95}};
#define N_CLASSES ((int)(sizeof classes / sizeof *classes))
#define PRIOR_WEIGHT 6.0 /* predictions the rates above count for */

/* Sizes of batches worth trying: a draft and the token before it. */
static const int sizes[] = {2, 3, 4, 6, 8, 12, 16};
#define N_SIZES ((int)(sizeof sizes / sizeof *sizes))
#define COST_GUESS .15 /* of each more token before it is known: low, so that it is soon tried */
#define COST_NEW 4     /* the latest of so many measurements' share in an estimate */
/* Evaluations in which an estimate that was not renewed fades into a guess, to be tried again. */
#define COST_FADES 256.0

struct match {  /* a place in the context that was preceded by what the context ends with */
    size_t at;  /* of the token predicted */
    int length; /* tokens that match; 0 = there is no such place */
};

struct lookup {
    int32_t *ids; /* the context */
    size_t n, cap;
    int32_t *latest; /* by hash: where such an n-gram ended last, + 1; 0 = nowhere */
    int32_t *before; /* by position: where one of the same hash ended before, + 1 */
    int hash_bits;
    /* Of the present context, if `searched`; else what is left of the one of the context before. */
    struct match match;
    bool searched, always;
    double tries[N_CLASSES], hits[N_CLASSES];
    double one_ms;         /* evaluating one token; 0 = not known yet */
    double ratio[N_SIZES]; /* evaluating so many / one, as measured; 0 = never yet */
    double budget;         /* what drafts have won and may still lose, in evaluations of one token */
};

/* ---- index ----------------------------------------------------------------------------------------------- */

static int32_t *latest_of(const struct lookup *l, size_t at)
{
    uint64_t h = 0;
    for (size_t i = at + 1 - N_GRAM; i <= at; i++)
        h = (h + (uint32_t)l->ids[i] + 1) * 0x9e3779b97f4a7c15u;
    return l->latest + (h >> (64 - l->hash_bits));
}

static void add(struct lookup *l, int32_t id)
{
    size_t at = l->n++;
    l->ids[at] = id;
    l->before[at] = 0;
    if (at + 1 < N_GRAM)
        return;
    int32_t *latest = latest_of(l, at);
    l->before[at] = *latest;
    *latest = (int32_t)at + 1;
}

/* How many tokens before `end` (exclusive) are those the context ends with. */
static int common(const struct lookup *l, size_t end)
{
    int n = 0;
    while (n < LONGEST && (size_t)n < end && l->ids[end - 1 - (size_t)n] == l->ids[l->n - 1 - (size_t)n])
        n++;
    return n;
}

/* The longest match, the latest of equals; one that has held so far is kept while none is longer. */
static void search(struct lookup *l)
{
    if (l->searched)
        return;
    l->searched = true;
    int32_t place = l->n >= N_GRAM ? l->before[l->n - 1] : 0;
    for (int i = 0; i < CHAIN && place > 0; i++, place = l->before[place - 1]) {
        int length = common(l, (size_t)place);
        if (length >= N_GRAM && length > l->match.length)
            l->match = (struct match){(size_t)place, length};
    }
}

/* ---- what pays ------------------------------------------------------------------------------------------- */

static int class_of(int length)
{
    int c = 0;
    while (c + 1 < N_CLASSES && classes[c + 1].from <= length)
        c++;
    return c;
}

static double rate(const struct lookup *l, int length)
{
    int c = class_of(length);
    return (l->hits[c] + classes[c].rate * PRIOR_WEIGHT) / (l->tries[c] + PRIOR_WEIGHT);
}

static void judge(struct lookup *l, bool hit)
{
    int c = class_of(l->match.length);
    l->tries[c] += 1 - l->tries[c] / MEMORY;
    l->hits[c] += (hit ? 1 : 0) - l->hits[c] / MEMORY;
}

static double guess(int i)
{
    return 1 + COST_GUESS * (sizes[i] - 1);
}

/* The size of batch, of those for at most n drafted tokens, that gives most tokens for its time; 1 = draft
 * nothing. */
static int best_size(const struct lookup *l, int n)
{
    double expected = 1, all_hold = 1, best = MARGIN, cost = 0;
    int size = 1;
    for (int i = 0, k = 1; i < N_SIZES && sizes[i] <= n + 1; i++) {
        for (; k < sizes[i]; k++)
            expected += all_hold *= rate(l, l->match.length + k - 1);
        double unknown = guess(i) > cost ? guess(i) : cost; /* no less than a smaller one */
        cost = l->ratio[i] > 0 ? l->ratio[i] : unknown;
        if (expected / cost > best && cost - 1 <= l->budget) {
            best = expected / cost;
            size = sizes[i];
        }
    }
    return size;
}

static double between(double x, double low, double high)
{
    return x < low ? low : x > high ? high : x;
}

/* ---- public ---------------------------------------------------------------------------------------------- */

struct lookup *lookup_open(int n_ctx)
{
    struct lookup *l = mem_new(1, sizeof *l);
    l->cap = (size_t)n_ctx;
    l->hash_bits = 8;
    while (l->hash_bits < 30 && (size_t)1 << l->hash_bits < l->cap)
        l->hash_bits++;
    l->ids = mem_new(l->cap, sizeof *l->ids);
    l->before = mem_new(l->cap, sizeof *l->before);
    l->latest = mem_new((size_t)1 << l->hash_bits, sizeof *l->latest);
    l->budget = BUDGET;
    return l;
}

void lookup_close(struct lookup *l)
{
    if (!l)
        return;
    free(l->ids);
    free(l->before);
    free(l->latest);
    free(l);
}

void lookup_truncate(struct lookup *l, size_t n)
{
    if (n >= l->n)
        return;
    for (; l->n > n; l->n--)
        if (l->n >= N_GRAM)
            *latest_of(l, l->n - 1) = l->before[l->n - 1];
    l->match.length = 0;
    l->searched = false;
}

void lookup_follow(struct lookup *l, const int32_t *context, size_t n)
{
    if (n > l->cap)
        n = l->cap;
    if (l->n < n) {
        l->match.length = 0;
        l->searched = false;
    }
    while (l->n < n)
        add(l, context[l->n]);
}

int lookup_draft(struct lookup *l, int most, bool (*ends)(const void *ctx, int32_t id), const void *ctx,
                 int32_t draft[static LOOKUP_MAX])
{
    search(l);
    if (most > LOOKUP_MAX)
        most = LOOKUP_MAX;
    if (l->match.length == 0 || most <= 0)
        return 0;
    int n = 0;
    for (; n < most; n++) {
        size_t from = l->match.at + (size_t)n;
        draft[n] = from < l->n ? l->ids[from] : draft[from - l->n]; /* a text that repeats itself goes on doing so */
        if (ends(ctx, draft[n]))
            break;
    }
    return l->always ? n : l->one_ms > 0 ? best_size(l, n) - 1 : 0;
}

void lookup_sampled(struct lookup *l, int32_t id, bool drafted)
{
    if (l->n == l->cap)
        return;
    search(l);
    if (l->match.length > 0) {
        bool hit = l->ids[l->match.at] == id;
        judge(l, hit);
        l->match = hit ? (struct match){l->match.at + 1, l->match.length + 1} : (struct match){0, 0};
    }
    if (drafted)
        l->budget = between(l->budget + 1, -BUDGET_MOST, BUDGET_MOST);
    add(l, id);
    l->searched = false;
}

void lookup_measured(struct lookup *l, int n, double ms)
{
    for (int i = 0; i < N_SIZES; i++)
        if (l->ratio[i] > 0 && sizes[i] != n)
            l->ratio[i] += (guess(i) - l->ratio[i]) / COST_FADES;
    if (n == 1) {
        /* A measurement may have met a busy machine: none changes an estimate much. */
        l->one_ms += l->one_ms > 0 ? (between(ms, l->one_ms / 2, l->one_ms * 2) - l->one_ms) / 8 : ms;
        l->budget = between(l->budget + BUDGET_SHARE, -BUDGET_MOST, BUDGET_MOST);
        return;
    }
    double ratio = l->one_ms > 0 ? between(ms / l->one_ms, 1, n + 1) : 1;
    for (int i = 0; i < N_SIZES; i++)
        if (sizes[i] == n)
            l->ratio[i] += l->ratio[i] > 0 ? (ratio - l->ratio[i]) / COST_NEW : ratio;
    l->budget -= ratio - 1;
}

void lookup_always(struct lookup *l, bool always)
{
    l->always = always;
}
