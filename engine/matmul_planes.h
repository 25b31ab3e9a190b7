/*
 * matmul_planes.h - the kernels of a Q8_0 matrix in two planes of nibbles (matmul_layout.h); included by
 * matmul_body.h.
 *
 * Of a code 16 h + l, less 128, the integers of a block are
 *
 *     16 * sum of h * q + sum of l * q - 128 * sum of q
 *
 * exactly those that the bytes give, so every element has the same bits as from the matrix packed otherwise.
 *
 * multiply_top first reads h alone and takes l for its mean, 7.5. If l is spread evenly over 0..15, independently of
 * q, what is then missing of a row's sum has mean 0 and variance 21.25 * sum of (scale * d * q)^2. Rows that by 7
 * standard deviations may be among the k largest are completed with their low nibbles, one strip later, when these
 * have come from memory. The smallest of the k largest complete ones so far is the bound for the rows to come.
 *
 * One code of a block is not spread: the largest is 255 or 1, because Q8_0 scales it to 127 or -127, and its low
 * nibble 15 or 1. Where these weights have the signs of q, as in rows of large sums, what is missing has a mean above
 * 0. Measured on SmolLM2-135M, the 40 largest logits of each of 1,450 tokens of English, C and a licence: by text, the
 * mean was 0.3 to 1.4 of the standard deviations above, and the spread around it 0.7 to 1.0 of them, none of the
 * 58,000 beyond 4.4. Normal tails of each text's mean and spread put at most 3e-11 of them beyond 7, and 1.4e-10 of
 * the largest alone.
 */
#ifndef MATMUL_PLANES_H
#define MATMUL_PLANES_H

#include <assert.h>
#include <math.h>

/* ---- whole ------------------------------------------------------------------------------------------------ */

/* Adds 32 columns of nibbles to the sum of each token. */
static INLINE void add_nibbles(int tokens, const words w[4], const unsigned char *record, ints sum[MAX_TILE_TOKENS])
{
    partial part[MAX_TILE_TOKENS];
    UNROLL
    for (int t = 0; t < tokens; t++)
        part[t] = begin_partial(sum[t]);
    UNROLL
    for (int i = 0; i < 8; i++) {
        words nibbles = (i < 4 ? w[i] : w[i - 4] >> 4) & 0x0f0f0f0f;
        UNROLL
        for (int t = 0; t < tokens; t++) {
            part[t] = add_dot(part[t], nibbles, splat_step(record + 4 * (i * tokens + t)), 4);
            if (tokens > 1)
                KEEP_PARTIAL(part[t]);
        }
    }
    UNROLL
    for (int t = 0; t < tokens; t++)
        sum[t] = end_partial(sum[t], part[t]);
}

static_assert(RUN_4 == 8, "a partial holds 32 columns of nibbles");

static INLINE void load_high(const unsigned char *high, int v, words w[4])
{
    UNROLL
    for (int i = 0; i < 4; i++)
        w[i] = load_words(high + 2 * MATMUL_ROWS + 64 * i + v * VECTOR_BYTES);
}

static INLINE void load_low(const unsigned char *low, size_t row_bytes, int v, words w[4])
{
    transpose_rows(low + (size_t)(v * VECTOR_LANES) * row_bytes, row_bytes, w);
}

static INLINE void prefetch_planes(const struct matmul_planes *p, const unsigned char *high, int block)
{
    for (int o = 0; o < MATMUL_HIGH_BYTES; o += 64)
        __builtin_prefetch(high + o + PREFETCH_AHEAD);
    /* The low plane of the next strip, in as many pieces as there are blocks. */
    for (int o = 0; o < MATMUL_LOW_BYTES * MATMUL_ROWS; o += 64)
        __builtin_prefetch(p->low + MATMUL_ROWS * p->row_bytes + block * MATMUL_LOW_BYTES * MATMUL_ROWS + o);
}

static INLINE void stream_planes(int tokens, const struct matmul_planes *p, int blocks, const unsigned char *record,
                                 float *out, size_t stride, bool first)
{
    floats y[VECTORS][MAX_TILE_TOKENS];
    UNROLL
    for (int v = 0; v < VECTORS; v++) {
        UNROLL
        for (int t = 0; t < tokens; t++)
            y[v][t] = first ? splat_float(0) : load_floats(out + (size_t)t * stride + v * VECTOR_LANES);
    }
    const unsigned char *high = p->high, *low = p->low;
    for (int b = 0; b < blocks; b++) {
        prefetch_planes(p, high, b);
        UNROLL
        for (int v = 0; v < VECTORS; v++) {
            words w[4];
            ints sum[MAX_TILE_TOKENS];
            UNROLL
            for (int t = 0; t < tokens; t++)
                sum[t] = splat_int(0);
            load_high(high, v, w);
            add_nibbles(tokens, w, record, sum);
            UNROLL
            for (int t = 0; t < tokens; t++)
                sum[t] = sum[t] * 16 + begin_sum(record, tokens, t, 0, 1, 128);
            load_low(low, p->row_bytes, v, w);
            add_nibbles(tokens, w, record, sum);
            floats scale = load_f16(high + v * VECTOR_BYTES / 2);
            UNROLL
            for (int t = 0; t < tokens; t++) {
                floats d = splat_float(float_at(record + RECORD_D(tokens) + 4 * t));
                y[v][t] = fma_floats(to_floats(sum[t]), scale * d, y[v][t]);
            }
        }
        high += MATMUL_HIGH_BYTES;
        low += MATMUL_LOW_BYTES;
        record += RECORD_TOKEN_BYTES * tokens;
    }
    UNROLL
    for (int v = 0; v < VECTORS; v++) {
        UNROLL
        for (int t = 0; t < tokens; t++)
            store_floats(out + (size_t)t * stride + v * VECTOR_LANES, y[v][t]);
    }
}

#define STREAM(tokens, _)                                                                                            \
    static void stream_planes_##tokens(const struct matmul_planes *p, int blocks, const unsigned char *record,       \
                                       float *y, size_t stride, bool first)                                          \
    {                                                                                                                \
        stream_planes(tokens, p, blocks, record, y, stride, first);                                                  \
    }
STREAMS(STREAM, )
#undef STREAM

/* As `unpack` does of Q8_0. */
static void unpack_planes(const struct matmul_planes *p, int blocks, struct matmul_strip *strip)
{
    const unsigned char *high = p->high, *low = p->low;
    for (int b = 0; b < blocks; b++, high += MATMUL_HIGH_BYTES, low += MATMUL_LOW_BYTES) {
        prefetch_planes(p, high, b);
        UNROLL
        for (int v = 0; v < VECTORS; v++) {
            words h[4], l[4];
            load_high(high, v, h);
            load_low(low, p->row_bytes, v, l);
            store_floats(strip->scale[b] + v * VECTOR_LANES, load_f16(high + v * VECTOR_BYTES / 2));
            UNROLL
            for (int i = 0; i < 4; i++) {
                uint32_t flip = SIGNED_CODES ? 0x80808080 : 0;
                words early = ((h[i] << 4 & 0xf0f0f0f0) | (l[i] & 0x0f0f0f0f)) ^ flip;
                words late = ((h[i] & 0xf0f0f0f0) | (l[i] >> 4 & 0x0f0f0f0f)) ^ flip;
                memcpy(strip->code[8 * b + i] + v * VECTOR_BYTES, &early, sizeof early);
                memcpy(strip->code[8 * b + i + 4] + v * VECTOR_BYTES, &late, sizeof late);
            }
        }
    }
}

/* ---- the k largest ---------------------------------------------------------------------------------------- */

/* What the first pass leaves of a strip's block: all that the low nibbles are to be added to. */
struct high_sums {
    int32_t sum[MATMUL_ROWS];  /* 16 * sum of h * q - 128 * sum of q */
    float factor[MATMUL_ROWS]; /* scale * d: of the whole sum */
};

/* A strip whose rows to be computed are known; their low nibbles are on the way from memory. */
struct chosen {
    int row;
    unsigned lanes; /* a bit each */
    struct high_sums *blocks;
};

/* 21.25 times the squares of the token's columns, of each block. */
static void add_squares(const unsigned char *record, int blocks, float *squares)
{
    for (int b = 0; b < blocks; b++, record += RECORD_TOKEN_BYTES) {
        const int8_t *q = (const int8_t *)record;
        int sum = 0;
        for (int i = 0; i < 32; i++)
            sum += q[i] * q[i];
        squares[b] = 21.25f * (float)sum;
    }
}

/* The sums of 16 rows with 7.5 for all low nibbles, and how uncertain they are. */
static INLINE void stream_high(const unsigned char *high, int blocks, const unsigned char *record,
                               const float *squares, struct high_sums *out, floats y[VECTORS],
                               floats variance[VECTORS])
{
    UNROLL
    for (int v = 0; v < VECTORS; v++)
        y[v] = variance[v] = splat_float(0);
    for (int b = 0; b < blocks; b++, high += MATMUL_HIGH_BYTES, record += RECORD_TOKEN_BYTES) {
        for (int o = 0; o < MATMUL_HIGH_BYTES; o += 64)
            __builtin_prefetch(high + o + PREFETCH_AHEAD);
        ints start = begin_sum(record, 1, 0, 0, 1, 128), rest = begin_sum(record, 1, 0, 0, 1, -15);
        floats d = splat_float(float_at(record + RECORD_D(1)));
        UNROLL
        for (int v = 0; v < VECTORS; v++) {
            words w[4];
            ints sum[MAX_TILE_TOKENS] = {splat_int(0)};
            load_high(high, v, w);
            add_nibbles(1, w, record, sum);
            sum[0] = sum[0] * 16 + start;
            floats factor = load_f16(high + v * VECTOR_BYTES / 2) * d;
            memcpy(out[b].sum + v * VECTOR_LANES, &sum[0], sizeof sum[0]);
            store_floats(out[b].factor + v * VECTOR_LANES, factor);
            y[v] = fma_floats(to_floats(sum[0] * 2 + rest), factor, y[v]); /* twice, to stay with integers */
            variance[v] = fma_floats(factor * factor, splat_float(squares[b]), variance[v]);
        }
    }
    UNROLL
    for (int v = 0; v < VECTORS; v++)
        y[v] *= 0.5f;
}

/* Bit i is set unless row i is surely below `bound`. Comparisons are such that NaN is not. */
static INLINE unsigned rows_that_may_reach(float bound, const floats y[VECTORS], const floats variance[VECTORS])
{
    int32_t below[MATMUL_ROWS], common = -1;
    UNROLL
    for (int v = 0; v < VECTORS; v++) {
        /* Squares below the smallest float are missing in the variance: together less than this. */
        floats gap = splat_float(bound - 1e-12f) - y[v];
        ints lanes = (gap > 0) & (gap * gap > variance[v] * 49);
        memcpy(below + v * VECTOR_LANES, &lanes, sizeof lanes);
    }
    for (int i = 0; i < MATMUL_ROWS; i++)
        common &= below[i];
    if (common)
        return 0;
    unsigned rows = 0;
    for (int i = 0; i < MATMUL_ROWS; i++)
        rows |= (unsigned)(below[i] + 1) << i;
    return rows;
}

static void prefetch_rows(const struct matmul_planes *p, unsigned lanes)
{
    for (; lanes; lanes &= lanes - 1)
        for (size_t o = 0; o < p->row_bytes; o += 64)
            __builtin_prefetch(p->low + (size_t)__builtin_ctz(lanes) * p->row_bytes + o);
}

static INLINE float exact_row(const struct high_sums *sums, int lane, const unsigned char *low, int blocks,
                              const unsigned char *record)
{
    float y = 0;
    for (int b = 0; b < blocks; b++, low += MATMUL_LOW_BYTES, record += RECORD_TOKEN_BYTES)
        y = fmaf((float)(sums[b].sum[lane] + dot_nibbles(low, record)), sums[b].factor[lane], y);
    return y;
}

static void finish_rows(const struct matrix *w, const struct activations *a, const struct chosen *c, float *y,
                        struct matmul_best *best, struct matmul_top *top)
{
    if (!c->lanes)
        return;
    const struct matmul_planes p = matmul_planes_at(w, c->row, 0);
    unsigned always = top->always[c->row / MATMUL_ROWS];
    for (unsigned lanes = c->lanes; lanes; lanes &= lanes - 1) {
        int lane = __builtin_ctz(lanes);
        float value = exact_row(c->blocks, lane, p.low + (size_t)lane * p.row_bytes, w->cols / 32, a->records);
        y[c->row + lane] = value;
        if (!(always >> lane & 1) && !isnan(value))
            matmul_best_add(best, value, &top->bound);
    }
}

static void multiply_top(const struct matrix *w, const struct activations *a, int row0, int row1, float *y,
                         struct matmul_top *top, void *scratch)
{
    int blocks = w->cols / 32, exact = 0;
    struct high_sums *sums = scratch;
    float *squares = (float *)(sums + 2 * blocks);
    struct matmul_best best = {.heap = squares + blocks, .k = top->k};
    struct chosen before = {.lanes = 0}, now = {.blocks = sums};
    add_squares(a->records, blocks, squares);
    for (now.row = row0; now.row < row1; now.row += MATMUL_ROWS) {
        const struct matmul_planes p = matmul_planes_at(w, now.row, 0);
        floats sum[VECTORS], variance[VECTORS];
        stream_high(p.high, blocks, a->records, squares, now.blocks, sum, variance);
        int n = row1 - now.row < MATMUL_ROWS ? row1 - now.row : MATMUL_ROWS;
        float bound = atomic_load_explicit(&top->bound, memory_order_relaxed);
        now.lanes = rows_that_may_reach(bound, sum, variance) | top->always[now.row / MATMUL_ROWS];
        now.lanes &= (1u << n) - 1;
        for (int i = 0; i < n; i++)
            y[now.row + i] = -INFINITY;
        prefetch_rows(&p, now.lanes);
        exact += __builtin_popcount(now.lanes);
        finish_rows(w, a, &before, y, &best, top);
        before = now;
        now.blocks = before.blocks == sums ? sums + blocks : sums;
    }
    finish_rows(w, a, &before, y, &best, top);
    atomic_fetch_add_explicit(&top->exact, exact, memory_order_relaxed);
}

static_assert(2 * sizeof(struct high_sums) + sizeof(float) == MATMUL_TOP_BLOCK_BYTES,
              "what is kept of each block is what matmul_can_split reckons with");

#endif
