/*
 * sampler.c - see sampler.h.
 *
 * The vocabulary is large and the candidates are few, so nothing sorts it whole: a heap of the k best is kept while
 * blocks of logits are looked through, and a block whose largest does not reach the heap's smallest costs one vector
 * pass. top-p without top-k takes the best few hundred, and more only if their mass does not suffice.
 */
#include "sampler.h"

#include "../src/base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK 256      /* logits looked at together */
#define FIRST_BEST 256 /* candidates that top-p tries first */

struct sampler {
    int n_vocab;
    const struct vector_kernels *vector;
    uint64_t state[4];            /* of the generator */
    struct candidate *candidates; /* n_vocab */
    double *probabilities;        /* n_vocab, of the candidates */
    float *exponentials;          /* n_vocab */
    int32_t *counts;              /* n_vocab: occurrences in the context looked back on; all 0 between calls */
    int32_t *seen;                /* the ids there */
    struct candidate *saved;      /* of these, the logits before their penalty */
    size_t n_saved, cap_seen;     /* the capacity is that of both */
};

/* ---- generator ------------------------------------------------------------------------------------------- */

static uint64_t rotate(uint64_t x, int k)
{
    return (x << k) | (x >> (64 - k));
}

static uint64_t next_random(struct sampler *s)
{
    uint64_t *a = s->state, result = rotate(a[0] + a[3], 23) + a[0], t = a[1] << 17;
    a[2] ^= a[0];
    a[3] ^= a[1];
    a[1] ^= a[2];
    a[0] ^= a[3];
    a[2] ^= t;
    a[3] = rotate(a[3], 45);
    return result;
}

void sampler_seed(struct sampler *s, uint64_t seed)
{
    for (int i = 0; i < 4; i++) { /* splitmix64 */
        uint64_t z = seed += 0x9e3779b97f4a7c15u;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        s->state[i] = z ^ (z >> 31);
    }
}

/* ---- penalties ------------------------------------------------------------------------------------------- */

static float penalized(float logit, int count, const struct engine_sampling *how)
{
    if (how->repeat_penalty > 0 && how->repeat_penalty != 1)
        logit = logit <= 0 ? logit * how->repeat_penalty : logit / how->repeat_penalty;
    return logit - (float)count * how->frequency_penalty - how->presence_penalty;
}

/* The ids looked back on, each once, into s->seen; s->counts has how often, for the caller to make 0 again. */
static size_t look_back(struct sampler *s, const struct engine_sampling *how, const int32_t *context, size_t n)
{
    bool repeat = how->repeat_penalty > 0 && how->repeat_penalty != 1;
    if (how->repeat_last_n <= 0 || (!repeat && how->frequency_penalty == 0 && how->presence_penalty == 0))
        return 0;
    size_t back = n < (size_t)how->repeat_last_n ? n : (size_t)how->repeat_last_n, n_seen = 0;
    if (s->cap_seen < back) {
        s->cap_seen = back;
        s->seen = mem_resize(s->seen, back, sizeof *s->seen);
        s->saved = mem_resize(s->saved, back, sizeof *s->saved);
    }
    for (size_t i = n - back; i < n; i++)
        if (s->counts[context[i]]++ == 0)
            s->seen[n_seen++] = context[i];
    return n_seen;
}

static void penalize(struct sampler *s, const struct engine_sampling *how, float *logits, const int32_t *context,
                     size_t n, bool (*exempt)(const void *ctx, int32_t id), const void *exempt_ctx)
{
    size_t n_seen = look_back(s, how, context, n);
    s->n_saved = 0;
    for (size_t i = 0; i < n_seen; i++) {
        int32_t id = s->seen[i];
        if (!exempt || !exempt(exempt_ctx, id)) {
            s->saved[s->n_saved++] = (struct candidate){id, logits[id]};
            logits[id] = penalized(logits[id], s->counts[id], how);
        }
        s->counts[id] = 0;
    }
}

static void restore(struct sampler *s, float *logits)
{
    for (size_t i = 0; i < s->n_saved; i++)
        logits[s->saved[i].id] = s->saved[i].logit;
}

/* ---- selection ------------------------------------------------------------------------------------------- */

static bool better(struct candidate a, struct candidate b)
{
    return a.logit > b.logit || (a.logit == b.logit && a.id < b.id);
}

static int by_falling_logit(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    return better(*x, *y) ? -1 : 1;
}

/* Restores the heap (worst on top) below element i. */
static void sift_down(struct candidate *heap, size_t n, size_t i)
{
    struct candidate c = heap[i];
    for (size_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && better(heap[child], heap[child + 1]))
            child++;
        if (!better(c, heap[child]))
            break;
        heap[i] = heap[child];
    }
    heap[i] = c;
}

/* Candidates = the k best, in falling order. NaNs are no candidates. */
static size_t select_best(struct sampler *s, const float *logits, size_t k)
{
    struct candidate *heap = s->candidates;
    size_t n = 0, vocab = (size_t)s->n_vocab;
    for (size_t block = 0; block < vocab; block += BLOCK) {
        size_t end = block + BLOCK < vocab ? block + BLOCK : vocab;
        /* An equal logit with a later id does not displace one in the heap, so `<=` passes the block over. */
        if (n == k && s->vector->largest(logits + block, end - block) <= heap[0].logit)
            continue;
        for (size_t i = block; i < end; i++) {
            struct candidate c = {(int32_t)i, logits[i]};
            if (isnan(c.logit))
                continue;
            if (n < k) {
                heap[n++] = c;
                for (size_t at = n / 2; n == k && at-- > 0;)
                    sift_down(heap, n, at);
            } else if (better(c, heap[0])) {
                heap[0] = c;
                sift_down(heap, n, 0);
            }
        }
    }
    qsort(heap, n, sizeof *heap, by_falling_logit);
    return n;
}

/* Candidates = all logits of at least `least`, in no order. */
static size_t select_above(struct sampler *s, const float *logits, float least)
{
    size_t n = 0, vocab = (size_t)s->n_vocab;
    for (size_t block = 0; block < vocab; block += BLOCK) {
        size_t end = block + BLOCK < vocab ? block + BLOCK : vocab;
        if (s->vector->largest(logits + block, end - block) < least)
            continue;
        for (size_t i = block; i < end; i++)
            if (logits[i] >= least)
                s->candidates[n++] = (struct candidate){(int32_t)i, logits[i]};
    }
    return n;
}

/* Sum of exp(logit - largest) over the whole vocabulary. */
static double total_mass(struct sampler *s, const float *logits, float largest)
{
    double sum = 0;
    s->vector->exponentials(logits, s->exponentials, (size_t)s->n_vocab, 1, largest);
    for (int i = 0; i < s->n_vocab; i++)
        if (!isnan(s->exponentials[i]))
            sum += (double)s->exponentials[i];
    return sum;
}

static double mass(const struct candidate *c, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += exp((double)c[i].logit - (double)c[0].logit);
    return sum;
}

/* The fewest candidates, of n in falling order, whose mass is at least p of `total`; 0 if they do not reach it. */
static size_t cut_top_p(const struct candidate *c, size_t n, double p, double total)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += exp((double)c[i].logit - (double)c[0].logit);
        if (sum >= p * total)
            return i + 1;
    }
    return 0;
}

/* top-k and top-p: what is left is in falling order. */
static size_t select_sorted(struct sampler *s, const struct engine_sampling *how, const float *logits, float largest)
{
    size_t vocab = (size_t)s->n_vocab;
    bool top_p = how->top_p < 1;
    if (how->top_k > 0 && (size_t)how->top_k < vocab) {
        size_t n = select_best(s, logits, (size_t)how->top_k);
        size_t kept = top_p ? cut_top_p(s->candidates, n, (double)how->top_p, mass(s->candidates, n)) : n;
        return kept ? kept : n;
    }
    double total = total_mass(s, logits, largest);
    for (size_t k = FIRST_BEST; k < vocab; k *= 8) {
        size_t n = select_best(s, logits, k), kept = cut_top_p(s->candidates, n, (double)how->top_p, total);
        if (kept)
            return kept;
    }
    size_t n = select_best(s, logits, vocab), kept = cut_top_p(s->candidates, n, (double)how->top_p, total);
    return kept ? kept : n;
}

/* All three filters. The first candidate need not be the best one. */
static size_t filter(struct sampler *s, const struct engine_sampling *how, const float *logits, float largest)
{
    float least = how->min_p > 0 ? largest + logf(how->min_p < 1 ? how->min_p : 1) : -INFINITY;
    if ((how->top_k <= 0 || how->top_k >= s->n_vocab) && !(how->top_p < 1))
        return select_above(s, logits, least);
    size_t n = select_sorted(s, how, logits, largest);
    while (n > 1 && s->candidates[n - 1].logit < least)
        n--;
    return n;
}

static void soften(struct sampler *s, size_t n, float temperature, float largest)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += s->probabilities[i] = exp(((double)s->candidates[i].logit - (double)largest) / (double)temperature);
    for (size_t i = 0; i < n; i++)
        s->probabilities[i] /= sum;
}

/* The candidates left after all steps and their probabilities; logits hold the penalties. */
static size_t distribution(struct sampler *s, const struct engine_sampling *how, const float *logits)
{
    float largest = s->vector->largest(logits, (size_t)s->n_vocab);
    if (!isfinite(largest))
        return 0;
    if (!(how->temperature > 0)) {
        int32_t id = 0;
        while (logits[id] != largest)
            id++;
        s->candidates[0] = (struct candidate){id, largest};
        s->probabilities[0] = 1;
        return 1;
    }
    size_t n = filter(s, how, logits, largest);
    soften(s, n, how->temperature, largest);
    return n;
}

/* ---- public ---------------------------------------------------------------------------------------------- */

size_t sampler_bytes(int n_vocab)
{
    const struct sampler *s = NULL; /* for the sizes of what its fields point to */
    return (size_t)n_vocab *
           (sizeof *s->candidates + sizeof *s->probabilities + sizeof *s->exponentials + sizeof *s->counts);
}

struct sampler *sampler_open(int n_vocab, const struct vector_kernels *vector)
{
    struct sampler *s = mem_new(1, sizeof *s);
    size_t n = (size_t)n_vocab;
    *s = (struct sampler){.n_vocab = n_vocab, .vector = vector};
    s->candidates = mem_new(n, sizeof *s->candidates);
    s->probabilities = mem_new(n, sizeof *s->probabilities);
    s->exponentials = mem_new(n, sizeof *s->exponentials);
    s->counts = mem_new(n, sizeof *s->counts);
    sampler_seed(s, 0);
    return s;
}

void sampler_close(struct sampler *s)
{
    if (!s)
        return;
    free(s->candidates);
    free(s->probabilities);
    free(s->exponentials);
    free(s->counts);
    free(s->seen);
    free(s->saved);
    free(s);
}

const int32_t *sampler_penalized(struct sampler *s, const struct engine_sampling *how, const int32_t *context,
                                 size_t n_context, bool (*exempt)(const void *ctx, int32_t id),
                                 const void *exempt_ctx, size_t *n)
{
    size_t n_seen = look_back(s, how, context, n_context);
    *n = 0;
    for (size_t i = 0; i < n_seen; i++) {
        int32_t id = s->seen[i];
        s->counts[id] = 0;
        if (!exempt || !exempt(exempt_ctx, id))
            s->seen[(*n)++] = id;
    }
    return s->seen;
}

int sampler_top(const struct sampler *s, const struct engine_sampling *how)
{
    if (!(how->temperature > 0))
        return 1;
    return how->top_k > 0 && how->top_k < s->n_vocab ? how->top_k : s->n_vocab;
}

size_t sampler_distribution(struct sampler *s, const struct engine_sampling *how, float *logits,
                            const int32_t *context, size_t n_context, bool (*exempt)(const void *ctx, int32_t id),
                            const void *exempt_ctx, const struct candidate **candidates, const double **probabilities)
{
    penalize(s, how, logits, context, n_context, exempt, exempt_ctx);
    size_t n = distribution(s, how, logits);
    restore(s, logits);
    *candidates = s->candidates;
    *probabilities = s->probabilities;
    return n;
}

int32_t sampler_draw(struct sampler *s, const struct engine_sampling *how, float *logits, const int32_t *context,
                     size_t n_context, bool (*exempt)(const void *ctx, int32_t id), const void *exempt_ctx)
{
    const struct candidate *c;
    const double *p;
    size_t n = sampler_distribution(s, how, logits, context, n_context, exempt, exempt_ctx, &c, &p);
    if (n == 0)
        return -1;
    if (n == 1)
        return c[0].id;
    double u = (double)(next_random(s) >> 11) * 0x1p-53, sum = 0;
    for (size_t i = 0; i + 1 < n; i++) {
        sum += p[i];
        if (u < sum)
            return c[i].id;
    }
    return c[n - 1].id;
}
