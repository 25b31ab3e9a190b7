/*
 * matmul_floats.h - matrices of F32, F16 and BF16 times float activations; compiled into each set.
 *
 * Column c adds to lane c % 16 of a sum, columns ascending, by fused multiply-add; the 16 lanes are added as a tree
 * at the end. All sets do the same, so they give the same bits. Tiles of rows x tokens share what they load. The set
 * says: VECTORS, FLOAT_ROWS, FLOAT_TOKENS, and has fma_floats(a, b, c) = a * b + c and load_f16(p).
 */
#ifndef MATMUL_FLOATS_H
#define MATMUL_FLOATS_H

#include "matmul.h"
#include "matmul_vector.h"

/* VECTOR_LANES weights from column c of a row. */
static INLINE floats load_weights(enum quant_id id, const unsigned char *row, size_t c)
{
    if (id == QUANT_F32)
        return load_floats(row + 4 * c);
    if (id == QUANT_F16)
        return load_f16(row + 2 * c);
    return (floats)(load_halves(row + 2 * c) << 16);
}

static INLINE float sum_lanes(const floats *v)
{
    float lane[16];
    memcpy(lane, v, sizeof lane);
    for (int width = 8; width; width /= 2)
        for (int i = 0; i < width; i++)
            lane[i] += lane[i + width];
    return lane[0];
}

struct float_tile {
    const unsigned char *row; /* first row, and bytes from one to the next */
    size_t row_bytes;
    const float *x; /* first token, each cols floats */
    size_t cols;
    float *y;
    size_t stride;
};

/* Columns [c, c + 16) of `rows` rows and `tokens` tokens. */
static INLINE void add_columns(enum quant_id id, int rows, int tokens, const struct float_tile *t, size_t c,
                               floats sum[FLOAT_ROWS][FLOAT_TOKENS][VECTORS])
{
    UNROLL
    for (int v = 0; v < VECTORS; v++) {
        size_t at = c + (size_t)(v * VECTOR_LANES);
        floats x[FLOAT_TOKENS];
        UNROLL
        for (int j = 0; j < tokens; j++)
            x[j] = load_floats(t->x + (size_t)j * t->cols + at);
        UNROLL
        for (int r = 0; r < rows; r++) {
            floats w = load_weights(id, t->row + (size_t)r * t->row_bytes, at);
            UNROLL
            for (int j = 0; j < tokens; j++)
                sum[r][j][v] = fma_floats(w, x[j], sum[r][j][v]);
        }
    }
}

/* The last columns, fewer than 16, filled up with zeros. */
static INLINE void add_rest(enum quant_id id, int rows, int tokens, const struct float_tile *t, size_t c,
                            floats sum[FLOAT_ROWS][FLOAT_TOKENS][VECTORS])
{
    size_t n = t->cols - c, weight = id == QUANT_F32 ? 4 : 2;
    UNROLL
    for (int r = 0; r < rows; r++) {
        UNROLL
        for (int j = 0; j < tokens; j++) {
            unsigned char row[64] = {0};
            float x[16] = {0};
            memcpy(row, t->row + (size_t)r * t->row_bytes + c * weight, n * weight);
            memcpy(x, t->x + (size_t)j * t->cols + c, n * sizeof *x);
            UNROLL
            for (int v = 0; v < VECTORS; v++)
                sum[r][j][v] = fma_floats(load_weights(id, row, (size_t)(v * VECTOR_LANES)),
                                          load_floats(x + v * VECTOR_LANES), sum[r][j][v]);
        }
    }
}

static INLINE void multiply_tile(enum quant_id id, int rows, int tokens, const struct float_tile *t)
{
    floats sum[FLOAT_ROWS][FLOAT_TOKENS][VECTORS] = {0};
    size_t c = 0;
    for (; c + 16 <= t->cols; c += 16)
        add_columns(id, rows, tokens, t, c, sum);
    if (c < t->cols)
        add_rest(id, rows, tokens, t, c, sum);
    UNROLL
    for (int r = 0; r < rows; r++) {
        UNROLL
        for (int j = 0; j < tokens; j++)
            t->y[(size_t)j * t->stride + (size_t)r] = sum_lanes(sum[r][j]);
    }
}

/* Of three shapes, so that each is compiled for fixed numbers. */
static INLINE void multiply_shape(enum quant_id id, int rows, int tokens, const struct float_tile *t)
{
    if (rows == FLOAT_ROWS && tokens == FLOAT_TOKENS)
        multiply_tile(id, FLOAT_ROWS, FLOAT_TOKENS, t);
    else if (rows == FLOAT_ROWS)
        multiply_tile(id, FLOAT_ROWS, 1, t);
    else
        multiply_tile(id, 1, 1, t);
}

static INLINE void multiply_rows(enum quant_id id, const struct matrix *w, const struct activations *a, int row0,
                                 int row1, float *y, size_t stride)
{
    struct float_tile t = {.cols = (size_t)w->cols, .stride = stride};
    t.row_bytes = t.cols * (size_t)w->format->bytes;
    for (int r = row0, rows; r < row1; r += rows) {
        rows = row1 - r >= FLOAT_ROWS && a->n > 1 ? FLOAT_ROWS : 1; /* one token: one row is one stream of memory */
        t.row = w->data + (size_t)r * t.row_bytes;
        for (int j = 0, tokens; j < a->n; j += tokens) {
            tokens = a->n - j >= FLOAT_TOKENS && rows > 1 ? FLOAT_TOKENS : 1;
            t.x = a->f + (size_t)j * t.cols;
            t.y = y + (size_t)j * stride + r;
            multiply_shape(id, rows, tokens, &t);
        }
    }
}

static void multiply_floats(const struct matrix *w, const struct activations *a, int row0, int row1, float *y,
                            size_t stride, void *scratch)
{
    (void)scratch;
    if (w->format->id == QUANT_F32)
        multiply_rows(QUANT_F32, w, a, row0, row1, y, stride);
    else if (w->format->id == QUANT_F16)
        multiply_rows(QUANT_F16, w, a, row0, row1, y, stride);
    else
        multiply_rows(QUANT_BF16, w, a, row0, row1, y, stride);
}

#endif
