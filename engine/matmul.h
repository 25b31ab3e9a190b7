/*
 * matmul.h - weight matrix x activations, in every weight format and on every instruction set: what the time goes into.
 *
 * y[j][r] = sum over c of W[r][c] * x[j][c]   for rows r of the matrix and columns (tokens) j of the activations.
 *
 * Formats with blocks multiply int8 weights by activations quantized to int8 in blocks of 32 (d = max|x| / 127); F32, F16
 * and BF16 multiply floats. For each output element the order of float additions is fixed: by blocks in ascending order,
 * the same whether one token or many are multiplied, whichever thread does it, packed or not. Integer sums are
 * exact, so the result is bit-identical for every n and every split of rows (within one kernel set).
 *
 * A matrix may be repacked once after loading: 8 rows (or what the set prefers) interleaved so that one vector load holds
 * some columns of each, same size as in the file. Without it the same kernels unpack a strip at a time: slower.
 */
#ifndef MATMUL_H
#define MATMUL_H

#include "quant.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct matrix {
    const struct quant_format *format;
    int rows, cols;            /* cols is a multiple of format->block */
    const unsigned char *data; /* the file's layout, row after row; unaligned */
    unsigned char *packed;     /* interleaved copy, 64-byte aligned, or NULL */
};

/* Activations of n tokens, ready to be multiplied. Buffers belong to whoever made the struct (activations_alloc). */
struct activations {
    int n, cols; /* cols: a multiple of 32 for block formats */
    int cap_n, cap_cols;
    const float *f; /* n x cols floats, not owned: the source */
    int8_t *q;      /* n x cols */
    float *d;       /* n x cols / 32: scale of each block */
    int32_t *sum;   /* n x cols / 32: sum of q over the block */
};
bool activations_alloc(struct activations *a, int max_n, int max_cols); /* false: out of memory */
void activations_free(struct activations *a);

struct matmul_kernels {
    const char *name; /* the kernel set */
    int row_align;    /* splits of a matrix between threads are at multiples of this many rows */
    /* Bytes of the packed form, 0 where this set does not pack the format. Rows are padded to row_align. */
    size_t (*packed_bytes)(const struct matrix *w);
    /* Packs rows [row0, row1) of w->data into dst, the start of the whole packed matrix. row0 is aligned. */
    void (*pack)(const struct matrix *w, unsigned char *dst, int row0, int row1);
    /* Quantizes tokens [j0, j1) of x (n x cols floats) into a->q, a->d, a->sum; a->n, a->cols and a->f set by the caller. */
    void (*quantize)(struct activations *a, int j0, int j1);
    /* y[j * stride + r] for r in [row0, row1), all a->n tokens. row0 is aligned. Uses no state but its arguments and a
     * few hundred KB of scratch given by the caller (64-byte aligned, matmul_scratch_bytes). For F32/F16/BF16 it reads a->f. */
    void (*multiply)(const struct matrix *w, const struct activations *a, int row0, int row1, float *y, size_t stride,
                     void *scratch);
};
#define MATMUL_SCRATCH_BYTES (1 << 20)

/* The named set ("scalar", "avx2", "avx512vnni", ...), NULL where this CPU or this build lacks it. */
const struct matmul_kernels *matmul_kernels(const char *name);

#endif
