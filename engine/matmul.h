/*
 * matmul.h - weight matrix x activations, in every weight format and on every instruction set: what the time goes
 * into.
 *
 * y[j][r] = sum over c of W[r][c] * x[j][c]   for rows r of the matrix and columns (tokens) j of the activations.
 *
 * Formats with blocks multiply int8 weights by activations quantized to int8 in blocks of 32 (d = max|x| / 127); F32,
 * F16 and BF16 multiply floats. For each output element the order of float additions is fixed: by blocks in ascending
 * order, the same whether one token or many are multiplied, whichever thread does it, packed or not. Integer sums are
 * exact, so the result is bit-identical for every n and every split of rows (within one kernel set).
 *
 * A matrix may be repacked once after loading: 16 rows interleaved so that one vector load holds some columns of
 * each, in the size of the file. Without it the same kernels repack a strip at a time on the way: slower.
 *
 * Where the next token comes from the k largest logits, most rows of the output head need not be known exactly. A
 * head of Q8_0 is therefore packed in two planes, the high nibbles of all weights and then the low ones: multiply_top
 * reads the high plane, half the bytes, and of the low one only the rows that may be among the k largest.
 */
#ifndef MATMUL_H
#define MATMUL_H

#include "quant.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct matrix {
    const struct quant_format *format;
    int rows, cols;            /* cols is a multiple of format->block */
    const unsigned char *data; /* the file's layout, row after row; unaligned */
    unsigned char *packed;     /* interleaved copy, 64-byte aligned, or NULL */
    bool planes;               /* packed, or to be packed, in two planes; only where matmul_can_split */
};

/* Activations of n tokens, ready to be multiplied. The buffer belongs to whoever made the struct (activations_alloc);
 * copies of the struct share it. */
struct activations {
    int n, cols; /* cols: a multiple of 32 for block formats */
    int cap_n, cap_cols;
    const float *f;         /* n x cols floats, not owned: the source */
    unsigned char *records; /* quantized, in the kernel set's own order: matmul_records.h */
};
size_t activations_bytes(int max_n, int max_cols);
bool activations_alloc(struct activations *a, int max_n, int max_cols); /* false: out of memory */
void activations_free(struct activations *a);

/* A set of rows: row r is in it where bit r % 16 of set[r / 16] is. */
static inline size_t matmul_row_set_words(int rows)
{
    return ((size_t)rows + 15) / 16;
}

static inline void matmul_row_set_add(uint16_t *set, int row)
{
    set[row / 16] |= (uint16_t)(1u << row % 16);
}

/* What multiply_top is to find: the k largest products of a token, shared by the threads that multiply. */
struct matmul_top {
    int k;                  /* 1..MATMUL_MAX_TOP */
    const uint16_t *always; /* a set of rows that are computed exactly in any case */
    _Atomic float bound;    /* k of the other rows are at least so large; -INFINITY at the start */
    atomic_int exact;       /* rows that were computed exactly; 0 at the start */
};
#define MATMUL_MAX_TOP 1024

struct matmul_kernels {
    const char *name; /* the kernel set */
    int row_align;    /* splits of a matrix between threads are at multiples of this many rows */
    /* Bytes of the packed form, 0 where this set does not pack the format. Rows are padded to row_align. */
    size_t (*packed_bytes)(const struct matrix *w);
    /* Packs rows [row0, row1) of w->data into dst, the start of the whole packed matrix. row0 is aligned. */
    void (*pack)(const struct matrix *w, unsigned char *dst, int row0, int row1);
    /* Quantizes tokens [j0, j1) of a->f into a->records; the caller has set a->n, a->cols and a->f. The records are
     * those of n tokens: all of them are quantized, by whichever threads, before any is multiplied. */
    void (*quantize)(struct activations *a, int j0, int j1);
    /* y[j * stride + r] for r in [row0, row1), all a->n tokens. row0 is aligned. Uses no state but its arguments and
     * MATMUL_SCRATCH_BYTES given by the caller, 64-byte aligned. For F32, F16 and BF16 it reads a->f. */
    void (*multiply)(const struct matrix *w, const struct activations *a, int row0, int row1, float *y, size_t stride,
                     void *scratch);
    /* One quantized token times a matrix packed in planes: y[r] for r in [row0, row1) is bit for bit that of multiply
     * where row r is in top->always or may be among the top->k largest of those that are not; else it is
     * -INFINITY. "May be" is 7 standard deviations of what the low nibbles can add: the chance to lose a row that
     * belongs there is about 1e-10 (matmul_planes.h). row0 and scratch are as for multiply. Several threads may do
     * their rows at once, with one top. NULL in sets without it (scalar, avxvnni): no matrix is then packed in planes. */
    void (*multiply_top)(const struct matrix *w, const struct activations *a, int row0, int row1, float *y,
                         struct matmul_top *top, void *scratch);
};
#define MATMUL_SCRATCH_BYTES (64 << 10)

/* Whether the matrix may be packed in planes, by a set that has multiply_top. */
bool matmul_can_split(const struct matrix *w);
/* Whether the low nibbles of a row, packed in planes, are spread as evenly as multiply_top takes for granted. */
bool matmul_row_is_even(const struct matrix *w, int row);
/* Where the first bytes read of rows from `row` on, a multiple of row_align, stand, and how many they are for each
 * row_align of them. */
const unsigned char *matmul_first_bytes(const struct matmul_kernels *k, const struct matrix *w, int row,
                                        size_t *bytes);

/* The named set ("scalar", "avx2", "avx512vnni", ...), NULL where this CPU or this build lacks it. */
const struct matmul_kernels *matmul_kernels(const char *name);

#endif
