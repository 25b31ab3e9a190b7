/*
 * sampler.h - logits -> a token, in llama.cpp's order: penalties, top-k, top-p, min-p, temperature, draw.
 *
 * Each step works on what the one before left, with probabilities renormalized, as llama.cpp's sampler chain does.
 * Equal logits are ordered by id. The generator is xoshiro256++ (Blackman and Vigna, https://prng.di.unimi.it),
 * seeded by splitmix64, so a seed gives the same answer on every machine.
 */
#ifndef SAMPLER_H
#define SAMPLER_H

#include "engine.h"
#include "vector.h"

struct candidate {
    int32_t id;
    float logit;
};

struct sampler;

size_t sampler_bytes(int n_vocab); /* of a sampler, without what it notes of the context */
struct sampler *sampler_open(int n_vocab, const struct vector_kernels *vector);
void sampler_close(struct sampler *s); /* NULL is fine */
void sampler_seed(struct sampler *s, uint64_t seed);

/* The token drawn. `context` is what the penalties look back on; exempt(ctx, id) is true for tokens they spare.
 * logits are changed while it works and restored. -1 if no logit is a number. */
int32_t sampler_draw(struct sampler *s, const struct engine_sampling *how, float *logits, const int32_t *context,
                     size_t n_context, bool (*exempt)(const void *ctx, int32_t id), const void *exempt_ctx);

/* The ids whose logits the penalties of such a draw change, each once, owned by s until its next call. */
const int32_t *sampler_penalized(struct sampler *s, const struct engine_sampling *how, const int32_t *context,
                                 size_t n_context, bool (*exempt)(const void *ctx, int32_t id),
                                 const void *exempt_ctx, size_t *n);

/* How many of the largest logits decide such a draw, apart from the ids above; n_vocab where all of them do. */
int sampler_top(const struct sampler *s, const struct engine_sampling *how);

/* What the draw is from: candidates by falling logit and their probabilities, owned by s until the next call. For
 * tests and for those who want to see alternatives. Temperature 0 gives one candidate. */
size_t sampler_distribution(struct sampler *s, const struct engine_sampling *how, float *logits,
                            const int32_t *context, size_t n_context, bool (*exempt)(const void *ctx, int32_t id),
                            const void *exempt_ctx, const struct candidate **candidates,
                            const double **probabilities);

#endif
