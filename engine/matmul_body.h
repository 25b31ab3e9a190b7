/*
 * matmul_body.h - the kernels of all block formats, written once over a small vocabulary that each set brings.
 *
 * A sub-block of 16 or 32 columns adds to a row's sum y
 *
 *     y = fma(float(sum of code * q - zero * sum of q), scale * d, y)
 *     y = fma(min, d * sum of q, y)                                      where the format has minimums
 *
 * with q and d of the activations (matmul_records.h). Codes are unsigned bytes and q signed ones, as the dot-product
 * instructions want them; the integers are exact, so only the two lines above round.
 *
 * The set defines before including this:
 *     VECTORS                     1, 2 or 4
 *     SIGNED_CODES                1: 8-bit codes are flipped to signed bytes, for instructions without u8 x s8
 *     TILES(X, ...)               X(tokens, ...) for each width of its tile kernels: 1, then ascending, at most 16
 *     STREAMS(X, ...)             the same for the first of them, those that also multiply from the packed stream
 *     MAX_STREAMED                tokens up to which that is faster than to unpack, in tiles of those widths
 *     HAS_TOP                     0 leaves multiply_top out; 1 where it is not defined
 *     RUN_4 RUN_5 RUN_6 RUN_8     how many steps of codes of so many bits a `partial` can add without overflow
 *     partial                     sums on their way
 *     begin_partial(ints), add_dot(partial, words w, words x, int bits), end_partial(ints, partial)
 *                                 a run of steps: end_partial(s, add_dot(... begin_partial(s))) is s + the products
 *     splat_step(p)               the 4 bytes at p in all lanes
 *     lookup_values(words)        quant_iq4_values of each byte, + 128 unless SIGNED_CODES
 *     dot_nibbles(low, q)         of one row's block of the low plane (matmul_layout.h), with 32 signed bytes q
 *     transpose_rows(p, row_bytes, words[4])
 *                                 the i-th 4 bytes of 16 at p, and each row_bytes further on, are the lanes of words[i]
 *     fma_floats, load_f16        as for matmul_floats.h
 *     KEEP(ints)                  an empty statement that ties a vector to its register here: the compiler does not
 *     KEEP_PARTIAL(partial)       reorder a tile's hundreds of independent operations into spills
 */
#ifndef MATMUL_BODY_H
#define MATMUL_BODY_H

#include "matmul_floats.h"
#include "matmul_layout.h"
#include "matmul_records.h"

#ifndef HAS_TOP
#define HAS_TOP 1
#endif

/* Bytes of the packed stream to ask for ahead of use: enough to cover the latency of memory. */
#define PREFETCH_AHEAD 1536

static INLINE ints splat_int(int32_t i)
{
    return i - (ints){0};
}

static INLINE floats splat_float(float f)
{
    return f - (floats){0};
}

/* ---- codes ------------------------------------------------------------------------------------------------ */

/* Moves a field of each byte between bit positions; what crosses into a neighbour is masked off by the caller. */
static INLINE words move_bits(words w, int from, int to)
{
    return from >= to ? w >> (from - to) : w << (to - from);
}

/* The codes of 4 columns: step 0..7 of the 32 columns whose planes begin at p (already at this vector's bytes). */
static INLINE words codes_at(struct matmul_layout l, const unsigned char *p, int step)
{
    words w;
    if (l.low == 8)
        return SIGNED_CODES ? load_words(p + 64 * step) ^ 0x80808080 : load_words(p + 64 * step);
    if (l.low == 4)
        w = load_words(p + 64 * (step % 4)) >> (step < 4 ? 0 : 4) & 0x0f0f0f0f;
    else
        w = load_words(p + 64 * (step / 4)) >> 2 * (step % 4) & 0x03030303;
    if (l.has_values)
        return lookup_values(w);
    if (l.high) {
        int per_byte = 8 / l.high;
        words h = load_words(p + 64 * (l.low + step / per_byte));
        w |= move_bits(h, l.high * (step % per_byte), l.low) & (l.high == 1 ? 0x01010101u : 0x03030303u) << l.low;
    }
    return w;
}

/* ---- scales ----------------------------------------------------------------------------------------------- */

static INLINE floats byte_at(words w, int i)
{
    return to_floats((ints)(w >> 8 * i & 0xff));
}

/* The scales (and minimums) of a block's sub-blocks from its header at p; see quant.c for what they mean. */
static INLINE void read_scales(struct matmul_layout l, const unsigned char *halves_at, const unsigned char *words_at,
                               floats *scale, floats *min)
{
    floats d = load_f16(halves_at), e = d;
    if (l.has_min)
        e = load_f16(halves_at + 2 * MATMUL_ROWS);
    words u[4];
    for (int i = 0; i < l.words; i++)
        u[i] = load_words(words_at + 64 * i);

    switch (l.scales) {
    case SCALES_PLAIN:
        scale[0] = d;
        min[0] = e;
        break;
    case SCALES_Q2_K:
        for (int j = 0; j < 16; j++) {
            scale[j] = d * to_floats((ints)(u[j / 4] >> 8 * (j % 4) & 15));
            min[j] = -e * to_floats((ints)(u[j / 4] >> (8 * (j % 4) + 4) & 15));
        }
        break;
    case SCALES_Q3_K:
        u[3] = (u[1] >> 4 & 0x0f0f0f0f) | (u[2] >> 6 & 0x03030303) << 4;
        words u2 = (u[0] >> 4 & 0x0f0f0f0f) | (u[2] >> 4 & 0x03030303) << 4;
        u[1] = (u[1] & 0x0f0f0f0f) | (u[2] >> 2 & 0x03030303) << 4;
        u[0] = (u[0] & 0x0f0f0f0f) | (u[2] & 0x03030303) << 4;
        u[2] = u2;
        for (int j = 0; j < 16; j++)
            scale[j] = d * to_floats((ints)(u[j / 4] >> 8 * (j % 4) & 0xff) - 32);
        break;
    case SCALES_K4:
        for (int j = 0; j < 4; j++) {
            words high = (u[2] & 0x0f0f0f0f) | (u[0] >> 6 & 0x03030303) << 4;
            words high_min = (u[2] >> 4 & 0x0f0f0f0f) | (u[1] >> 6 & 0x03030303) << 4;
            scale[j] = d * byte_at(u[0] & 0x3f3f3f3f, j);
            scale[j + 4] = d * byte_at(high, j);
            min[j] = -e * byte_at(u[1] & 0x3f3f3f3f, j);
            min[j + 4] = -e * byte_at(high_min, j);
        }
        break;
    case SCALES_Q6_K:
        for (int j = 0; j < 16; j++)
            scale[j] = d * to_floats((ints)(u[j / 4] << (24 - 8 * (j % 4))) >> 24);
        break;
    case SCALES_IQ4_XS:
        for (int j = 0; j < 8; j++) {
            words high = load_halves(halves_at + 2 * MATMUL_ROWS) >> 2 * j & 3;
            scale[j] = d * to_floats((ints)((u[0] >> 4 * j & 15) | high << 4) - 32);
        }
        break;
    }
}

/* ---- a few tokens: straight from the packed stream ------------------------------------------------------- */

/* Steps to add before a partial has to be widened, at most those of a sub-block. */
static INLINE int run_length(int bits, int steps)
{
    int run = bits <= 4 ? RUN_4 : bits == 5 ? RUN_5 : bits == 6 ? RUN_6 : RUN_8;
    return run < steps ? run : steps;
}

static INLINE int code_bits(struct matmul_layout l)
{
    return l.has_values ? 8 : l.low + l.high;
}

static INLINE int code_zero(int kind)
{
    switch (kind) {
#define X(name, sub, bits, zero, has_min)                                                                            \
    case MATMUL_##name: return SIGNED_CODES && bits == 8 ? 0 : zero;
        MATMUL_KINDS(X)
#undef X
    }
    return 0;
}

/* What the integers of sub-block k (of `subs` in 32 columns) of token t begin with: -zero * sum of q. */
static INLINE ints begin_sum(const unsigned char *record, int tokens, int t, int k, int subs, int zero)
{
    if (!zero)
        return splat_int(0);
    const unsigned char *neg = record + RECORD_NEG(tokens) + 4 * t, *low = record + RECORD_NEG_LOW(tokens) + 4 * t;
    if (subs == 1)
        return splat_int(int_at(neg)) * zero;
    return (k == 0 ? splat_int(int_at(low)) : splat_int(int_at(neg)) - splat_int(int_at(low))) * zero;
}

/* What the minimum of sub-block k of token t is multiplied by: d * sum of q. */
static INLINE floats sum_term(const unsigned char *record, int tokens, int t, int k, int subs)
{
    if (subs == 1)
        return splat_float(float_at(record + RECORD_DSUM(tokens) + 4 * t));
    return splat_float(float_at(record + RECORD_D(tokens) + 4 * t)) *
           to_floats(-begin_sum(record, tokens, t, k, subs, 1));
}

/* 32 columns whose planes begin at p, for one vector of rows: each code is taken apart once for all tokens. */
static INLINE void stream_32(int tokens, struct matmul_layout l, const unsigned char *p, const unsigned char *record,
                             const floats *scale, const floats *min, floats *y)
{
    int steps = l.sub / 4, subs = 32 / l.sub, run = run_length(code_bits(l), steps);
    UNROLL
    for (int k = 0; k < subs; k++) {
        ints sum[MAX_TILE_TOKENS];
        UNROLL
        for (int t = 0; t < tokens; t++)
            sum[t] = begin_sum(record, tokens, t, k, subs, code_zero(l.kind));
        UNROLL
        for (int s = 0; s < steps; s += run) {
            partial part[MAX_TILE_TOKENS];
            UNROLL
            for (int t = 0; t < tokens; t++)
                part[t] = begin_partial(sum[t]);
            UNROLL
            for (int i = k * steps + s; i < k * steps + s + run; i++) {
                words w = codes_at(l, p, i);
                UNROLL
                for (int t = 0; t < tokens; t++) {
                    part[t] = add_dot(part[t], w, splat_step(record + 4 * (i * tokens + t)), code_bits(l));
                    if (tokens > 1)
                        KEEP_PARTIAL(part[t]);
                }
            }
            UNROLL
            for (int t = 0; t < tokens; t++)
                sum[t] = end_partial(sum[t], part[t]);
        }
        UNROLL
        for (int t = 0; t < tokens; t++) {
            floats d = splat_float(float_at(record + RECORD_D(tokens) + 4 * t));
            y[t] = fma_floats(to_floats(sum[t]), scale[k] * d, y[t]);
            if (l.has_min)
                y[t] = fma_floats(min[k], sum_term(record, tokens, t, k, subs), y[t]);
        }
    }
}

static INLINE void stream(int tokens, struct matmul_layout l, const unsigned char *packed, int blocks,
                          const unsigned char *record, float *out, size_t stride, bool first)
{
    floats y[VECTORS][MAX_TILE_TOKENS], scale[QUANT_MAX_BLOCK / 16], min[QUANT_MAX_BLOCK / 16];
    UNROLL
    for (int v = 0; v < VECTORS; v++) {
        UNROLL
        for (int t = 0; t < tokens; t++)
            y[v][t] = first ? splat_float(0) : load_floats(out + (size_t)t * stride + v * VECTOR_LANES);
    }
    size_t bytes = (size_t)l.bytes * MATMUL_ROWS, record_bytes = RECORD_TOKEN_BYTES * (size_t)tokens;
    const unsigned char *words_at = packed + 2 * MATMUL_ROWS * l.halves,
                        *planes = words_at + 4 * MATMUL_ROWS * l.words;
    for (int b = 0; b < blocks; b++) {
        size_t at = (size_t)b * bytes;
        for (size_t o = 0; o < bytes; o += 64)
            __builtin_prefetch(packed + at + o + PREFETCH_AHEAD);
        UNROLL
        for (int v = 0; v < VECTORS; v++) {
            const unsigned char *p = planes + at + v * VECTOR_BYTES;
            const unsigned char *r = record + (size_t)b * (size_t)(l.block / 32) * record_bytes;
            read_scales(l, packed + at + v * VECTOR_BYTES / 2, words_at + at + v * VECTOR_BYTES, scale, min);
            for (int c = 0; c < l.block / 32; c++, p += 64 * (l.low + l.high), r += record_bytes)
                stream_32(tokens, l, p, r, scale + c * 32 / l.sub, min + c * 32 / l.sub, y[v]);
        }
    }
    UNROLL
    for (int v = 0; v < VECTORS; v++) {
        UNROLL
        for (int t = 0; t < tokens; t++)
            store_floats(out + (size_t)t * stride + v * VECTOR_LANES, y[v][t]);
    }
}

/* ---- many tokens: unpack, then tiles ---------------------------------------------------------------------- */

static INLINE void unpack(struct matmul_layout l, const unsigned char *packed, int blocks, struct matmul_strip *strip)
{
    floats scale[QUANT_MAX_BLOCK / 16], min[QUANT_MAX_BLOCK / 16];
    int subs = l.block / l.sub;
    for (int b = 0; b < blocks; b++, packed += l.bytes * MATMUL_ROWS) {
        const unsigned char *words_at = packed + 2 * MATMUL_ROWS * l.halves;
        UNROLL
        for (int v = 0; v < VECTORS; v++) {
            read_scales(l, packed + v * VECTOR_BYTES / 2, words_at + v * VECTOR_BYTES, scale, min);
            for (int k = 0; k < subs; k++) {
                store_floats(strip->scale[b * subs + k] + v * VECTOR_LANES, scale[k]);
                if (l.has_min)
                    store_floats(strip->min[b * subs + k] + v * VECTOR_LANES, min[k]);
            }
            const unsigned char *p = words_at + 4 * MATMUL_ROWS * l.words + v * VECTOR_BYTES;
            unsigned char *code = strip->code[b * l.block / 4] + v * VECTOR_BYTES;
            for (int c = 0; c < l.block; c += 32, p += 64 * (l.low + l.high), code += 8 * 64) {
                UNROLL
                for (int s = 0; s < 8; s++) {
                    words w = codes_at(l, p, s);
                    memcpy(code + 64 * s, &w, sizeof w);
                }
            }
        }
    }
}

/* One step of 16 rows x `tokens` tokens. A partial that holds one step only is widened at once. */
static INLINE void tile_step(int tokens, int run, int bits, const unsigned char *code, const unsigned char *q,
                             partial part[][VECTORS], ints sum[][VECTORS])
{
    words w[VECTORS];
    for (int v = 0; v < VECTORS; v++)
        w[v] = load_words(code + v * VECTOR_BYTES);
    UNROLL
    for (int t = 0; t < tokens; t++) {
        words x = splat_step(q + 4 * t);
        UNROLL
        for (int v = 0; v < VECTORS; v++) {
            part[t][v] = add_dot(part[t][v], w[v], x, bits);
            if (run == 1) {
                sum[t][v] = end_partial(sum[t][v], part[t][v]);
                KEEP(sum[t][v]);
            } else {
                KEEP_PARTIAL(part[t][v]);
            }
        }
    }
}

/* One sub-block's integers of 16 rows x `tokens` tokens. */
static INLINE void tile_ints(int tokens, int sub, int bits, const unsigned char *code, const unsigned char *q,
                             ints sum[][VECTORS])
{
    int steps = sub / 4, run = run_length(bits, steps);
    UNROLL
    for (int s = 0; s < steps; s += run) {
        partial part[MAX_TILE_TOKENS][VECTORS];
        UNROLL
        for (int t = 0; t < tokens; t++) {
            UNROLL
            for (int v = 0; v < VECTORS; v++)
                part[t][v] = begin_partial(sum[t][v]);
        }
        UNROLL
        for (int i = s; i < s + run; i++)
            tile_step(tokens, run, bits, code + 64 * i, q + 4 * i * tokens, part, sum);
        UNROLL
        for (int t = 0; t < tokens; t++) {
            UNROLL
            for (int v = 0; v < VECTORS; v++) {
                if (run > 1) /* else tile_step did it */
                    sum[t][v] = end_partial(sum[t][v], part[t][v]);
                KEEP(sum[t][v]);
            }
        }
    }
}

static INLINE void tile(int tokens, int sub, int bits, int zero, bool has_min, const struct matmul_strip *strip,
                        int columns, const unsigned char *record, float *out, size_t stride, bool first)
{
    int subs = 32 / sub;
    floats y[MAX_TILE_TOKENS][VECTORS];
    UNROLL
    for (int t = 0; t < tokens; t++) {
        UNROLL
        for (int v = 0; v < VECTORS; v++)
            y[t][v] = first ? splat_float(0) : load_floats(out + (size_t)t * stride + v * VECTOR_LANES);
    }
    const unsigned char *code = strip->code[0];
    const float *scale = strip->scale[0], *min = strip->min[0];
    for (int c = 0; c < columns; c += 32) {
        UNROLL
        for (int k = 0; k < subs; k++) {
            ints sum[MAX_TILE_TOKENS][VECTORS];
            UNROLL
            for (int t = 0; t < tokens; t++) {
                UNROLL
                for (int v = 0; v < VECTORS; v++)
                    sum[t][v] = begin_sum(record, tokens, t, k, subs, zero);
            }
            tile_ints(tokens, sub, bits, code + 16 * sub * k, record + sub * tokens * k, sum);
            UNROLL
            for (int t = 0; t < tokens; t++) {
                floats d = splat_float(float_at(record + RECORD_D(tokens) + 4 * t));
                UNROLL
                for (int v = 0; v < VECTORS; v++) {
                    y[t][v] = fma_floats(to_floats(sum[t][v]),
                                         load_floats(scale + k * MATMUL_ROWS + v * VECTOR_LANES) * d, y[t][v]);
                    if (has_min)
                        y[t][v] = fma_floats(load_floats(min + k * MATMUL_ROWS + v * VECTOR_LANES),
                                             sum_term(record, tokens, t, k, subs), y[t][v]);
                }
            }
        }
        code += 8 * 64;
        scale += subs * MATMUL_ROWS;
        min += subs * MATMUL_ROWS;
        record += RECORD_TOKEN_BYTES * tokens;
    }
    UNROLL
    for (int t = 0; t < tokens; t++) {
        UNROLL
        for (int v = 0; v < VECTORS; v++)
            store_floats(out + (size_t)t * stride + v * VECTOR_LANES, y[t][v]);
    }
}

#include "matmul_planes.h"

/* ---- the kernels, by format and kind ----------------------------------------------------------------------- */

#define STREAM(tokens, name)                                                                                         \
    static void stream_##name##_##tokens(const unsigned char *packed, int blocks, const unsigned char *record,       \
                                         float *y, size_t stride, bool first)                                        \
    {                                                                                                                \
        stream(tokens, matmul_layout_##name, packed, blocks, record, y, stride, first);                              \
    }
#define X(name, ...)                                                                                                 \
    STREAMS(STREAM, name)                                                                                            \
    static void unpack_##name(const unsigned char *packed, int blocks, struct matmul_strip *strip)                   \
    {                                                                                                                \
        unpack(matmul_layout_##name, packed, blocks, strip);                                                         \
    }
MATMUL_FORMATS(X)
#undef X
#undef STREAM

#define TILE(tokens, kind, sub, bits, zero, has_min)                                                                 \
    static void tile_##kind##_##tokens(const struct matmul_strip *strip, int columns, const unsigned char *record,   \
                                       float *y, size_t stride, bool first)                                          \
    {                                                                                                                \
        tile(tokens, sub, bits, code_zero(MATMUL_##kind), has_min, strip, columns, record, y, stride, first);        \
    }
#define X(kind, sub, bits, zero, has_min) TILES(TILE, kind, sub, bits, zero, has_min)
MATMUL_KINDS(X)
#undef X
#undef TILE

static const struct matmul_set set = {
#define X(tokens, ...) tokens,
    .widths = {TILES(X, )},
#undef X
    .max_streamed = MAX_STREAMED,
#define STREAM(tokens, name) stream_##name##_##tokens,
#define X(name, ...) [MATMUL_##name] = {STREAMS(STREAM, name)},
    .stream = {MATMUL_FORMATS(X)},
#undef X
#undef STREAM
#define STREAM(tokens, _) stream_planes_##tokens,
    .stream_planes = {STREAMS(STREAM, )},
#undef STREAM
    .unpack_planes = unpack_planes,
#define X(name, ...) [MATMUL_##name] = unpack_##name,
    .unpack = {MATMUL_FORMATS(X)},
#undef X
#define TILE(tokens, kind) tile_##kind##_##tokens,
#define X(kind, ...) [MATMUL_##kind] = {TILES(TILE, kind)},
    .tile = {MATMUL_KINDS(X)},
#undef X
#undef TILE
    .multiply_floats = multiply_floats,
};

static void quantize(struct activations *a, int j0, int j1)
{
    quantize_tokens(a, set.widths, j0, j1);
}

static void multiply(const struct matrix *w, const struct activations *a, int row0, int row1, float *y, size_t stride,
                     void *scratch)
{
    matmul_drive(&set, w, a, row0, row1, y, stride, scratch);
}

#define MATMUL_SET(set_name)                                                                                         \
    {                                                                                                                \
        .name = set_name, .row_align = MATMUL_ROWS, .packed_bytes = matmul_packed_bytes, .pack = matmul_pack,        \
        .quantize = quantize, .multiply = multiply, .multiply_top = HAS_TOP ? multiply_top : NULL,                   \
    }

#endif
