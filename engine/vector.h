/*
 * vector.h - everything of the forward pass that is not a weight matrix: norms, rope, SiLU, attention over the KV
 * cache.
 *
 * One source, vector_body.h, is compiled once per instruction set. Within a set the order and rounding of every
 * addition is fixed: it depends on the shapes of the model only, never on how many tokens are evaluated together or
 * which thread does it. exp is accurate to 2 units in the last place (0 below -87.3); half floats are rounded to
 * nearest even and saturate.
 *
 * The KV cache is made of tiles of VECTOR_TILE consecutive positions of one layer and head. Half floats:
 *   K tile  [VECTOR_TILE / VECTOR_GROUP][head_dim][VECTOR_GROUP]: the lanes of a vector are positions, so that scores
 *           need no sums across lanes
 *   V tile  [VECTOR_TILE][head_dim]
 * In 8 bits the same, as int8, followed by a half float scale for each 32 values of a position:
 *   K tile  after each group its scales [head_dim / 32][VECTOR_GROUP]
 *   V tile  after all values the scales [VECTOR_TILE][head_dim / 32]
 */
#ifndef VECTOR_H
#define VECTOR_H

#include <stddef.h>
#include <stdint.h>

#define VECTOR_TILE 64
#define VECTOR_GROUP 16
#define VECTOR_Q8_BLOCK 32
#define VECTOR_HEAD_MAX 256 /* head_dim: a multiple of 16 up to this */

/* Which positions of a tile a query sees: the first `sinks`, and [from, to). None where to is 0. */
struct vector_span {
    int sinks, from, to;
};

/* The state of a query's softmax over the tiles seen so far: head_dim weighted sums of V, then `top`, the largest
 * score rounded up to an integer, and the sum of the weights 2^(score - top). */
#define VECTOR_STATE(head_dim) ((size_t)(head_dim) + VECTOR_GROUP)

struct vector_attend {
    int head_dim, n_queries;
    const float *q;                /* n_queries x head_dim, times log2(e) / sqrt(head_dim) */
    const void *k, *v;             /* one tile: half floats, or floats for attend_wide */
    const struct vector_span *see; /* of each query; NULL: all see the whole tile */
    float *state;                  /* n_queries x VECTOR_STATE; merged into */
    const unsigned char *begun;    /* of each query: its state holds earlier tiles; NULL: none does */
    const void *next_k, *next_v;   /* the tile that will be attended to next: fetched meanwhile; or NULL */
};

struct vector_kernels {
    const char *name;
    void (*rms_norm)(const float *x, const float *weight, float *out, int n, float eps);
    void (*add)(float *x, const float *y, int n);
    void (*scale)(float *x, float factor, int n);
    void (*silu_multiply)(float *gate, const float *up, int n); /* gate = silu(gate) * up */
    /* Rotates pairs (2i, 2i + 1) or (i, i + pairs) by the angles with these cosines and sines. */
    void (*rotate_neighbours)(float *x, const float *cosines, const float *sines, int pairs);
    void (*rotate_halves)(float *x, const float *cosines, const float *sines, int pairs);
    void (*narrow)(const float *x, uint16_t *out, int n);   /* float -> half, any n */
    void (*widen)(const uint16_t *x, float *out, size_t n); /* half -> float, n a multiple of 16 */
    /* A tile in 8 bits -> the same tile in floats. */
    void (*widen_k8)(const unsigned char *tile, float *out, int head_dim);
    void (*widen_v8)(const unsigned char *tile, float *out, int head_dim);
    /* For every query, in this order: scores of the tile, their top, weights 2^(score - top), the weighted sum of V;
     * then that merged with the state before it. */
    void (*attend)(const struct vector_attend *a);
    void (*attend_wide)(const struct vector_attend *a); /* the same result from tiles widened to floats */
    /* The state of earlier tiles with that of later ones. */
    void (*merge)(float *state, const float *later, int head_dim);
    void (*finish)(const float *state, float *out, int head_dim); /* out = sums / sum of weights */
    float (*largest)(const float *x, size_t n);                   /* -inf for n = 0; NaNs are passed over */
    /* out = exp(x * factor - shift) */
    void (*exponentials)(const float *x, float *out, size_t n, float factor, float shift);
};

/* The kernels that go with the matmul set of this name ("avx512vnni" -> avx512); NULL if this build has none. */
const struct vector_kernels *vector_kernels(const char *set);

extern const struct vector_kernels vector_scalar, vector_avx2, vector_avx512, vector_neon;

#endif
