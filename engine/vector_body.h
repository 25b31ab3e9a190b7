/*
 * vector_body.h - the body of vector_*.c. Before it: LANES, vf and vi (vectors of LANES floats and int32), QUERIES
 * (queries multiplied at once), v_fma, v_max, v_upper (lanes n and up moved to lane 0 and up, n half of what is
 * left), v_from_half, v_to_half, KERNELS and KERNELS_NAME.
 *
 * A tail shorter than a vector is padded and done as a whole one, so an element's result does not depend on where in
 * an array it lies.
 */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#define VECTORS 4 /* accumulators per query: enough to hide the latency of a multiply-add */
#define WIDTH (VECTORS * LANES)
#define HALF_MAX 65504.0f /* largest finite half float */
#define ROUND 12582912.0f /* 1.5 x 2^23: adding it leaves the nearest integer in the low bits */
#define INLINE static inline __attribute__((always_inline))

INLINE vf v_load(const float *p)
{
    vf v;
    memcpy(&v, p, sizeof v);
    return v;
}

INLINE void v_store(float *p, vf v)
{
    memcpy(p, &v, sizeof v);
}

INLINE vf v_set(float x)
{
    return x - (vf){0};
}

/* n < LANES floats, the others `fill`. */
INLINE vf v_load_some(const float *p, int n, float fill)
{
    vf v = v_set(fill);
    memcpy(&v, p, (size_t)n * sizeof *p);
    return v;
}

INLINE void v_store_some(float *p, vf v, int n)
{
    memcpy(p, &v, (size_t)n * sizeof *p);
}

INLINE vf v_select(vi mask, vf a, vf b)
{
    return (vf)(((vi)a & mask) | ((vi)b & ~mask));
}

/* Halves are added, then quarters, and so on: the upper to the lower. */
INLINE float sum_lanes(vf v)
{
    for (int half = LANES / 2; half > 0; half /= 2)
        v += v_upper(v, half);
    return v[0];
}

INLINE float max_lanes(vf v)
{
    for (int half = LANES / 2; half > 0; half /= 2)
        v = v_max(v, v_upper(v, half));
    return v[0];
}

/* exp(x) = 2^n exp(r), |r| <= ln 2 / 2, with ln 2 in two parts (Cody and Waite) and the Taylor polynomial of degree
 * 7, whose remainder there is below 1e-8. 0 below the smallest normal result, and capped at exp(88). */
INLINE vf v_exp(vf x)
{
    vi tiny = x < -87.3f;
    x = v_select(x > 88.0f, v_set(88.0f), x);
    x = v_select(tiny, v_set(0), x);
    vf shifted = v_fma(x, v_set(1.44269504f), v_set(ROUND));
    vf n = shifted - ROUND;
    vf r = v_fma(n, v_set(-0.693359375f), x);
    r = v_fma(n, v_set(2.12194440e-4f), r);
    vf p = v_set(1.0f / 5040);
    p = v_fma(p, r, v_set(1.0f / 720));
    p = v_fma(p, r, v_set(1.0f / 120));
    p = v_fma(p, r, v_set(1.0f / 24));
    p = v_fma(p, r, v_set(1.0f / 6));
    p = v_fma(p, r, v_set(0.5f));
    p = v_fma(p * r, r, r) + 1.0f;
    vi power = ((vi)shifted - (vi)v_set(ROUND) + 127) << 23;
    return (vf)((vi)(p * (vf)power) & ~tiny);
}

/* 2^x for x <= 0: 2^n times the Taylor polynomial of 2^f, |f| <= 1/2, of degree 7 (remainder below 6e-9); 0 below
 * 2^-126. */
INLINE vf v_exp2(vf x)
{
    vi tiny = x < -126.0f;
    x = v_select(tiny, v_set(0), x);
    vf shifted = x + ROUND, f = x - (shifted - ROUND);
    vf p = v_set(1.52527338e-5f); /* (ln 2)^k / k! */
    p = v_fma(p, f, v_set(1.54035304e-4f));
    p = v_fma(p, f, v_set(1.33335581e-3f));
    p = v_fma(p, f, v_set(9.61812911e-3f));
    p = v_fma(p, f, v_set(5.55041087e-2f));
    p = v_fma(p, f, v_set(2.40226507e-1f));
    p = v_fma(p, f, v_set(6.93147181e-1f));
    p = v_fma(p, f, v_set(1));
    vi power = ((vi)shifted - (vi)v_set(ROUND) + 127) << 23;
    return (vf)((vi)(p * (vf)power) & ~tiny);
}

/* ---- rows of activations --------------------------------------------------------------------------------- */

static void rms_norm(const float *x, const float *weight, float *out, int n, float eps)
{
    vf sums[VECTORS] = {0};
    int i = 0;
    for (; i + WIDTH <= n; i += WIDTH)
        for (int k = 0; k < VECTORS; k++) {
            vf v = v_load(x + i + k * LANES);
            sums[k] = v_fma(v, v, sums[k]);
        }
    for (; i < n; i += LANES) {
        vf v = i + LANES <= n ? v_load(x + i) : v_load_some(x + i, n - i, 0);
        sums[0] = v_fma(v, v, sums[0]);
    }
    float mean = sum_lanes((sums[0] + sums[1]) + (sums[2] + sums[3])) / (float)n;
    float factor = 1.0f / sqrtf(mean + eps);
    for (i = 0; i < n; i++)
        out[i] = x[i] * factor * weight[i];
}

static void add(float *x, const float *y, int n)
{
    for (int i = 0; i < n; i++)
        x[i] += y[i];
}

static void scale(float *x, float factor, int n)
{
    for (int i = 0; i < n; i++)
        x[i] *= factor;
}

INLINE vf v_silu_multiply(vf gate, vf up)
{
    return gate / (1.0f + v_exp(-gate)) * up;
}

static void silu_multiply(float *gate, const float *up, int n)
{
    int i = 0;
    for (; i + LANES <= n; i += LANES)
        v_store(gate + i, v_silu_multiply(v_load(gate + i), v_load(up + i)));
    if (i < n)
        v_store_some(gate + i, v_silu_multiply(v_load_some(gate + i, n - i, 0), v_load_some(up + i, n - i, 0)),
                     n - i);
}

static void rotate_neighbours(float *x, const float *cosines, const float *sines, int pairs)
{
    for (int i = 0; i < pairs; i++) {
        float a = x[2 * i], b = x[2 * i + 1];
        x[2 * i] = a * cosines[i] - b * sines[i];
        x[2 * i + 1] = a * sines[i] + b * cosines[i];
    }
}

static void rotate_halves(float *x, const float *cosines, const float *sines, int pairs)
{
    float *y = x + pairs;
    for (int i = 0; i < pairs; i++) {
        float a = x[i], b = y[i];
        x[i] = a * cosines[i] - b * sines[i];
        y[i] = a * sines[i] + b * cosines[i];
    }
}

static void narrow(const float *x, uint16_t *out, int n)
{
    for (int i = 0; i < n; i += LANES) {
        int some = n - i < LANES ? n - i : LANES;
        vf v = some == LANES ? v_load(x + i) : v_load_some(x + i, some, 0);
        v = v_select(v > HALF_MAX, v_set(HALF_MAX), v);
        v = v_select(v < -HALF_MAX, v_set(-HALF_MAX), v);
        uint16_t h[LANES];
        v_to_half(h, v);
        memcpy(out + i, h, (size_t)some * sizeof *h);
    }
}

static void widen(const uint16_t *x, float *out, size_t n)
{
    for (size_t i = 0; i < n; i += LANES)
        v_store(out + i, v_from_half(x + i));
}

typedef int8_t vb __attribute__((vector_size(LANES)));

INLINE vf v_from_bytes(const unsigned char *p)
{
    vb v;
    memcpy(&v, p, sizeof v);
    return __builtin_convertvector(__builtin_convertvector(v, vi), vf);
}

static void widen_k8(const unsigned char *tile, float *out, int head_dim)
{
    size_t values = (size_t)head_dim * VECTOR_GROUP, blocks = (size_t)head_dim / VECTOR_Q8_BLOCK;
    for (int group = 0; group < VECTOR_TILE / VECTOR_GROUP; group++) {
        uint16_t scales[VECTOR_HEAD_MAX / VECTOR_Q8_BLOCK * VECTOR_GROUP];
        memcpy(scales, tile + values, blocks * VECTOR_GROUP * sizeof *scales);
        for (size_t i = 0; i < values; i += LANES) {
            size_t block = i / VECTOR_GROUP / VECTOR_Q8_BLOCK;
            v_store(out + i, v_from_bytes(tile + i) * v_from_half(scales + block * VECTOR_GROUP + i % VECTOR_GROUP));
        }
        tile += values + blocks * VECTOR_GROUP * sizeof *scales;
        out += values;
    }
}

static void widen_v8(const unsigned char *tile, float *out, int head_dim)
{
    size_t values = (size_t)head_dim * VECTOR_TILE, blocks = values / VECTOR_Q8_BLOCK;
    uint16_t halves[VECTOR_HEAD_MAX / VECTOR_Q8_BLOCK * VECTOR_TILE];
    float scales[VECTOR_HEAD_MAX / VECTOR_Q8_BLOCK * VECTOR_TILE];
    memcpy(halves, tile + values, blocks * sizeof *halves);
    widen(halves, scales, blocks);
    for (size_t b = 0; b < blocks; b++)
        for (size_t i = b * VECTOR_Q8_BLOCK; i < (b + 1) * VECTOR_Q8_BLOCK; i += LANES)
            v_store(out + i, v_from_bytes(tile + i) * v_set(scales[b]));
}

static float largest(const float *x, size_t n)
{
    const float none = -__builtin_inff();
    vf best[VECTORS] = {v_set(none), v_set(none), v_set(none), v_set(none)};
    size_t i = 0;
    /* The comparison with NaN is false, so the element is passed over. */
    for (; i + WIDTH <= n; i += WIDTH)
        for (int k = 0; k < VECTORS; k++) {
            vf v = v_load(x + i + (size_t)k * LANES);
            best[k] = v_select(v > best[k], v, best[k]);
        }
    for (; i < n; i += LANES) {
        vf v = i + LANES <= n ? v_load(x + i) : v_load_some(x + i, (int)(n - i), none);
        best[0] = v_select(v > best[0], v, best[0]);
    }
    return max_lanes(v_max(v_max(best[0], best[1]), v_max(best[2], best[3])));
}

static void exponentials(const float *x, float *out, size_t n, float factor, float shift)
{
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        v_store(out + i, v_exp(v_load(x + i) * factor - shift));
    if (i < n)
        v_store_some(out + i, v_exp(v_load_some(x + i, (int)(n - i), 0) * factor - shift), (int)(n - i));
}

/* ---- attention ------------------------------------------------------------------------------------------- */

/* LANES values of a tile at element i. */
INLINE vf load_tile(const void *tile, size_t i, bool wide)
{
    return wide ? v_load((const float *)tile + i) : v_from_half((const uint16_t *)tile + i);
}

/* Fetches into the cache what falls to one step of the work on another tile, so that all its steps fetch the whole
 * tile of half floats: a step is WIDTH positions of one element, or one position of WIDTH elements. */
INLINE void fetch_step(const void *tile, int head_dim, size_t step)
{
    const size_t bytes = 2 * WIDTH > 64 ? 2 * WIDTH : 64, at = step * bytes;
    for (size_t i = at; i < at + bytes && i < (size_t)head_dim * VECTOR_TILE * sizeof(uint16_t); i += 64)
        __builtin_prefetch((const char *)tile + i);
}

/* Scores of `nq` queries (a constant where inlined) against the tile: each the sum over d, ascending, in one
 * accumulator. */
INLINE void scores(const struct vector_attend *a, int first, const int nq, int n_positions, float (*out)[VECTOR_TILE],
                   const bool wide)
{
    const int hd = a->head_dim;
    for (int p = 0; p < n_positions; p += WIDTH) {
        vf sum[QUERIES][VECTORS] = {0};
        for (int d = 0; d < hd; d++) {
            vf q[QUERIES];
            if (!wide && first == 0 && a->next_k)
                fetch_step(a->next_k, hd, (size_t)(p / WIDTH * hd + d));
#pragma GCC unroll 8
            for (int i = 0; i < nq; i++)
                q[i] = v_set(a->q[(size_t)(first + i) * (size_t)hd + (size_t)d]);
#pragma GCC unroll 8
            for (int v = 0; v < VECTORS; v++) {
                int position = p + v * LANES;
                size_t at =
                    (size_t)(position / VECTOR_GROUP * hd + d) * VECTOR_GROUP + (size_t)(position % VECTOR_GROUP);
                vf k = load_tile(a->k, at, wide);
#pragma GCC unroll 8
                for (int i = 0; i < nq; i++)
                    sum[i][v] = v_fma(q[i], k, sum[i][v]);
            }
        }
#pragma GCC unroll 8
        for (int i = 0; i < nq; i++)
#pragma GCC unroll 8
            for (int v = 0; v < VECTORS; v++)
                v_store(out[i] + p + v * LANES, sum[i][v]);
    }
}

/* Scores (logarithms to base 2) become weights 2^(score - top), top being the largest rounded up to an integer:
 * states with different tops are then brought to a common one by an exact power of two. What the query does not see
 * weighs 0. */
INLINE void softmax(float *s, const struct vector_span *see, float *top_out, float *sum_out)
{
    if (see && (see->from > see->sinks || see->to < VECTOR_TILE))
        for (int p = 0; p < VECTOR_TILE; p++)
            if (p >= see->to || (p < see->from && p >= see->sinks))
                s[p] = -__builtin_inff();
    vf best = v_load(s);
    for (int p = LANES; p < VECTOR_TILE; p += LANES)
        best = v_max(best, v_load(s + p));
    float top = ceilf(max_lanes(best));
    vf sum = {0};
    for (int p = 0; p < VECTOR_TILE; p += LANES) {
        vf e = v_exp2(v_load(s + p) - top);
        v_store(s + p, e);
        sum += e;
    }
    *top_out = top;
    *sum_out = sum_lanes(sum);
}

/* `nv` vectors of the weighted sum of V from element d on, positions ascending. */
INLINE void weigh(const struct vector_attend *a, int first, const int nq, const int nv, int n_positions,
                  float (*weights)[VECTOR_TILE], int d, float (*out)[VECTOR_HEAD_MAX], const bool wide)
{
    vf sum[QUERIES][VECTORS] = {0};
    for (int p = 0; p < n_positions; p++) {
        vf w[QUERIES];
        if (!wide && first == 0 && a->next_v)
            fetch_step(a->next_v, a->head_dim, (size_t)(d / WIDTH * VECTOR_TILE + p));
#pragma GCC unroll 8
        for (int i = 0; i < nq; i++)
            w[i] = v_set(weights[i][p]);
#pragma GCC unroll 8
        for (int v = 0; v < nv; v++) {
            vf value = load_tile(a->v, (size_t)p * (size_t)a->head_dim + (size_t)(d + v * LANES), wide);
#pragma GCC unroll 8
            for (int i = 0; i < nq; i++)
                sum[i][v] = v_fma(w[i], value, sum[i][v]);
        }
    }
#pragma GCC unroll 8
    for (int i = 0; i < nq; i++)
#pragma GCC unroll 8
        for (int v = 0; v < nv; v++)
            v_store(out[i] + d + v * LANES, sum[i][v]);
}

/* 2^x of an integer x <= 0. */
INLINE float power_of_two(float x)
{
    int32_t bits = x >= -126 ? ((int32_t)x + 127) << 23 : 0;
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

/* Both states relative to the larger top. */
INLINE void merge_parts(float *state, const float *sums, float top, float sum, int head_dim)
{
    float before = state[head_dim], common = top > before ? top : before;
    float keep = power_of_two(before - common), take = power_of_two(top - common);
    for (int i = 0; i < head_dim; i += LANES)
        v_store(state + i, v_fma(v_load(sums + i), v_set(take), v_load(state + i) * keep));
    state[head_dim] = common;
    state[head_dim + 1] = state[head_dim + 1] * keep + sum * take;
}

static void merge(float *state, const float *later, int head_dim)
{
    merge_parts(state, later, later[head_dim], later[head_dim + 1], head_dim);
}

/* The last position of the tile that any of nq queries sees, plus one. */
INLINE int positions_seen(const struct vector_attend *a, int first, const int nq)
{
    int n = a->see ? 0 : VECTOR_TILE;
    for (int i = 0; a->see && i < nq; i++)
        if (a->see[first + i].to > n)
            n = a->see[first + i].to;
    return n;
}

INLINE void attend_queries(const struct vector_attend *a, int first, const int nq, const bool wide)
{
    _Alignas(64) float weights[QUERIES][VECTOR_TILE];
    _Alignas(64) float sums[QUERIES][VECTOR_HEAD_MAX];
    const int hd = a->head_dim, n_positions = positions_seen(a, first, nq);
    float top[QUERIES] = {0}, sum[QUERIES] = {0};
    if (n_positions == 0)
        return;
    scores(a, first, nq, n_positions, weights, wide);
    for (int i = 0; i < nq; i++) {
        if (a->see && a->see[first + i].to == 0)
            memset(weights[i], 0, sizeof weights[i]);
        else
            softmax(weights[i], a->see ? &a->see[first + i] : NULL, &top[i], &sum[i]);
    }
    int d = 0;
    for (; d + WIDTH <= hd; d += WIDTH)
        weigh(a, first, nq, VECTORS, n_positions, weights, d, sums, wide);
    for (; d < hd; d += LANES)
        weigh(a, first, nq, 1, n_positions, weights, d, sums, wide);
    for (int i = 0; i < nq; i++) {
        float *state = a->state + (size_t)(first + i) * VECTOR_STATE(hd);
        if (a->see && a->see[first + i].to == 0)
            continue;
        if (a->begun && a->begun[first + i]) {
            merge_parts(state, sums[i], top[i], sum[i], hd);
        } else {
            memcpy(state, sums[i], (size_t)hd * sizeof *state);
            state[hd] = top[i];
            state[hd + 1] = sum[i];
        }
    }
}

INLINE void attend_all(const struct vector_attend *a, const bool wide)
{
    int i = 0;
    for (; i + QUERIES <= a->n_queries; i += QUERIES)
        attend_queries(a, i, QUERIES, wide);
    switch (a->n_queries - i) {
#if QUERIES > 3
    case 3: attend_queries(a, i, 3, wide); break;
#endif
#if QUERIES > 2
    case 2: attend_queries(a, i, 2, wide); break;
#endif
    case 1: attend_queries(a, i, 1, wide); break;
    }
}

static void attend(const struct vector_attend *a)
{
    attend_all(a, false);
}

static void attend_wide(const struct vector_attend *a)
{
    attend_all(a, true);
}

static void finish(const float *state, float *out, int head_dim)
{
    float factor = 1.0f / state[head_dim + 1];
    for (int i = 0; i < head_dim; i++)
        out[i] = state[i] * factor;
}

const struct vector_kernels KERNELS = {
    .name = KERNELS_NAME,
    .rms_norm = rms_norm,
    .add = add,
    .scale = scale,
    .silu_multiply = silu_multiply,
    .rotate_neighbours = rotate_neighbours,
    .rotate_halves = rotate_halves,
    .narrow = narrow,
    .widen = widen,
    .widen_k8 = widen_k8,
    .widen_v8 = widen_v8,
    .attend = attend,
    .attend_wide = attend_wide,
    .merge = merge,
    .finish = finish,
    .largest = largest,
    .exponentials = exponentials,
};
