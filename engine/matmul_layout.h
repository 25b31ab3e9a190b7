/*
 * matmul_layout.h - the packed form of a matrix, and what the kernel sets and their driver (matmul.c) share.
 *
 * Packed, 16 rows stand together, and one 32-bit lane of a vector belongs to one row: 64 bytes hold 4 consecutive
 * columns of each of the 16 rows, whether a set reads them as one, two or four vectors. So a multiply-add of bytes in
 * fours leaves every row's sum in a lane of its own, and nothing is ever added across lanes. 16 rows x one block of
 * the format are
 *
 *     halves x 16 uint16    scale, then minimum, of each row, as in the file
 *     words  x 16 uint32    the 256-blocks' scale bits, 4 bytes of each row at a time, as in the file
 *     then for every 32 columns, in 8 steps of 4:
 *       low plane           low bits of the codes; 8-bit codes: step s in the 64 bytes s; nibbles: steps s and s + 4
 *                           in the low and high half of the bytes s; pairs: step s in bits 2 (s % 4) of the
 *                           bytes s / 4
 *       high plane          the fifth bit: step s in bit s; two bits above a nibble: as pairs
 *
 * which is exactly 16 times the block's size in the file.
 *
 * Q8_0 in two planes (matrix.planes), its codes being q + 128: all strips with the codes' high nibbles in place of
 * Q4_0's codes, then the low nibbles, row after row, of 32 columns 16 bytes: the row's 4 words that would go with
 * those of the high plane. So a strip's high plane is one stream, and what is left of a single row stands together.
 */
#ifndef MATMUL_LAYOUT_H
#define MATMUL_LAYOUT_H

#include "matmul.h"

#define MATMUL_ROWS 16

enum matmul_scales { /* how halves and words make the scales of the sub-blocks: see quant.c */
                     SCALES_PLAIN,
                     SCALES_Q2_K,
                     SCALES_Q3_K,
                     SCALES_K4,
                     SCALES_Q6_K,
                     SCALES_IQ4_XS,
};

struct matmul_layout {
    int block, sub, bytes; /* as in quant_format */
    int low, high;         /* bits of a code in the low and in the high plane */
    int half_at, halves;   /* where the block has its 16-bit fields, and how many */
    int word_at, words;    /* the same of the 32-bit fields */
    enum matmul_scales scales;
    bool has_min, has_values; /* has_values: codes mean quant_iq4_values */
    int kind;                 /* which tile kernel multiplies it */
};

/* Once unpacked, formats differ only in what the tile kernels need to know:
 *        kind sub bits of a code, its zero, has_min */
#define MATMUL_KINDS(X)                                                                                              \
    X(4_32, 32, 4, 8, false)                                                                                         \
    X(4_32_min, 32, 4, 0, true)                                                                                      \
    X(5_32, 32, 5, 16, false)                                                                                        \
    X(5_32_min, 32, 5, 0, true)                                                                                      \
    X(8_32, 32, 8, 128, false)                                                                                       \
    X(4_16, 16, 4, 4, false)                                                                                         \
    X(4_16_min, 16, 4, 0, true)                                                                                      \
    X(6_16, 16, 6, 32, false)

enum matmul_kind {
#define X(name, ...) MATMUL_##name,
    MATMUL_KINDS(X)
#undef X
        MATMUL_N_KINDS,
};

/*         format block sub bytes low high halves words  scales         min    values kind */
#define MATMUL_FORMATS(X)                                                                                            \
    X(Q4_0, 32, 32, 18, 4, 0, 0, 1, 0, 0, SCALES_PLAIN, false, false, MATMUL_4_32)                                   \
    X(Q4_1, 32, 32, 20, 4, 0, 0, 2, 0, 0, SCALES_PLAIN, true, false, MATMUL_4_32_min)                                \
    X(Q5_0, 32, 32, 22, 4, 1, 0, 1, 0, 0, SCALES_PLAIN, false, false, MATMUL_5_32)                                   \
    X(Q5_1, 32, 32, 24, 4, 1, 0, 2, 0, 0, SCALES_PLAIN, true, false, MATMUL_5_32_min)                                \
    X(Q8_0, 32, 32, 34, 8, 0, 0, 1, 0, 0, SCALES_PLAIN, false, false, MATMUL_8_32)                                   \
    X(Q2_K, 256, 16, 84, 2, 0, 80, 2, 0, 4, SCALES_Q2_K, true, false, MATMUL_4_16_min)                               \
    X(Q3_K, 256, 16, 110, 2, 1, 108, 1, 96, 3, SCALES_Q3_K, false, false, MATMUL_4_16)                               \
    X(Q4_K, 256, 32, 144, 4, 0, 0, 2, 4, 3, SCALES_K4, true, false, MATMUL_4_32_min)                                 \
    X(Q5_K, 256, 32, 176, 4, 1, 0, 2, 4, 3, SCALES_K4, true, false, MATMUL_5_32_min)                                 \
    X(Q6_K, 256, 16, 210, 4, 2, 208, 1, 192, 4, SCALES_Q6_K, false, false, MATMUL_6_16)                              \
    X(IQ4_NL, 32, 32, 18, 4, 0, 0, 1, 0, 0, SCALES_PLAIN, false, true, MATMUL_8_32)                                  \
    X(IQ4_XS, 256, 32, 136, 4, 0, 0, 2, 4, 1, SCALES_IQ4_XS, false, true, MATMUL_8_32)

enum matmul_format {
#define X(name, ...) MATMUL_##name,
    MATMUL_FORMATS(X)
#undef X
        MATMUL_N_FORMATS,
};

#define X(name, block, sub, bytes, low, high, half_at, halves, word_at, words, scales, min, values, kind)            \
    static const struct matmul_layout matmul_layout_##name = {block,   sub,   bytes,  low, high,   half_at, halves,  \
                                                              word_at, words, scales, min, values, kind};
MATMUL_FORMATS(X)
#undef X

/* 16 unpacked rows, as the tile kernels read them. */
#define MATMUL_STRIP_COLUMNS 1280
struct matmul_strip {
    unsigned char code[MATMUL_STRIP_COLUMNS / 4][64];    /* 16 rows x 4 columns each */
    float scale[MATMUL_STRIP_COLUMNS / 16][MATMUL_ROWS]; /* by sub-blocks */
    float min[MATMUL_STRIP_COLUMNS / 16][MATMUL_ROWS];
};

/* 16 rows of a matrix in two planes, from some block of columns on. */
struct matmul_planes {
    unsigned char *high; /* blocks of MATMUL_HIGH_BYTES */
    unsigned char *low;  /* the first row; the next is row_bytes further on */
    size_t row_bytes;
};
#define MATMUL_HIGH_BYTES (18 * MATMUL_ROWS)
#define MATMUL_LOW_BYTES 16        /* of one row's block */
#define MATMUL_TOP_BLOCK_BYTES 260 /* of scratch that multiply_top uses for each block, beside k floats */

static inline struct matmul_planes matmul_planes_at(const struct matrix *w, int row, int block)
{
    size_t blocks = (size_t)w->cols / 32, strips = ((size_t)w->rows + MATMUL_ROWS - 1) / MATMUL_ROWS;
    size_t high = blocks * MATMUL_HIGH_BYTES, low = blocks * MATMUL_LOW_BYTES;
    return (struct matmul_planes){
        .high = w->packed + (size_t)row / MATMUL_ROWS * high + (size_t)block * MATMUL_HIGH_BYTES,
        .low = w->packed + strips * high + (size_t)row * low + (size_t)block * MATMUL_LOW_BYTES,
        .row_bytes = low,
    };
}

/* The k largest values so far: a heap in memory of the caller, the smallest on top. */
struct matmul_best {
    float *heap;
    int n, k;
};
/* Takes up a value, which is no NaN. Once there are k, *bound is at least the smallest of them. In matmul.c. */
void matmul_best_add(struct matmul_best *best, float value, _Atomic float *bound);

/* Everything a set brings. Kernels work on 16 rows and on some whole blocks of columns; records are those of the
 * first column. Sums go to y[t * stride + row], continuing what is there unless `first`. */
typedef void matmul_stream(const unsigned char *packed, int blocks, const unsigned char *record, float *y,
                           size_t stride, bool first);
typedef void matmul_unpack(const unsigned char *packed, int blocks, struct matmul_strip *strip);
typedef void matmul_stream_planes(const struct matmul_planes *p, int blocks, const unsigned char *record, float *y,
                                  size_t stride, bool first);
typedef void matmul_unpack_planes(const struct matmul_planes *p, int blocks, struct matmul_strip *strip);
typedef void matmul_tile(const struct matmul_strip *strip, int columns, const unsigned char *record, float *y,
                         size_t stride, bool first);

#define MATMUL_MAX_TILES 6
struct matmul_set {
    int widths[MATMUL_MAX_TILES + 1]; /* tokens of the tile kernels: 1, then ascending, then 0 */
    int max_streamed;                 /* up to so many tokens are multiplied by `stream`, more by `tile` */
    matmul_stream *stream[MATMUL_N_FORMATS][MATMUL_MAX_TILES];
    matmul_unpack *unpack[MATMUL_N_FORMATS];
    matmul_stream_planes *stream_planes[MATMUL_MAX_TILES];
    matmul_unpack_planes *unpack_planes;
    matmul_tile *tile[MATMUL_N_KINDS][MATMUL_MAX_TILES];
    /* y[j * stride + r] for rows of F32, F16 or BF16 */
    void (*multiply_floats)(const struct matrix *w, const struct activations *a, int row0, int row1, float *y,
                            size_t stride, void *scratch);
};

/* matmul_pack.c */
const struct matmul_layout *matmul_layout(enum quant_id id, enum matmul_format *format); /* NULL: floats */
size_t matmul_strip_bytes(const struct matmul_layout *l, const struct matrix *w);        /* of 16 packed rows */
/* Packs blocks [b0, b1) of the 16 rows from `row` on; rows beyond the matrix are zeros. */
void matmul_pack_strip(enum matmul_format format, const struct matrix *w, int row, int b0, int b1,
                       unsigned char *dst);
size_t matmul_packed_bytes(const struct matrix *w);
void matmul_pack(const struct matrix *w, unsigned char *dst, int row0, int row1);

/* matmul.c */
void matmul_drive(const struct matmul_set *set, const struct matrix *w, const struct activations *a, int row0,
                  int row1, float *y, size_t stride, void *scratch);

/* The sets; which of them exist depends on the target's architecture. */
extern const struct matmul_kernels matmul_scalar, matmul_avx2, matmul_avxvnni, matmul_avx512, matmul_avx512vnni,
    matmul_neon, matmul_neondot;

#endif
