/*
 * quant.h - the weight formats of GGUF files: one table, and each format's exact meaning as scalar code.
 *
 * Names, ids and layouts are those of ggml (ggml.h, ggml-common.h): a row of `cols` weights is cols / block blocks of
 * `bytes` bytes. What a block means is defined by its decode function: codes of a few bits, and for every `sub` of
 * them a scale and perhaps a minimum. dequantize is made from it, and so is the scalar kernel that all others must
 * equal.
 */
#ifndef QUANT_H
#define QUANT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum quant_id { /* ggml_type */
                QUANT_F32 = 0,
                QUANT_F16 = 1,
                QUANT_Q4_0 = 2,
                QUANT_Q4_1 = 3,
                QUANT_Q5_0 = 6,
                QUANT_Q5_1 = 7,
                QUANT_Q8_0 = 8,
                QUANT_Q2_K = 10,
                QUANT_Q3_K = 11,
                QUANT_Q4_K = 12,
                QUANT_Q5_K = 13,
                QUANT_Q6_K = 14,
                QUANT_IQ4_NL = 20,
                QUANT_IQ4_XS = 23,
                QUANT_BF16 = 30,
};

#define QUANT_MAX_BLOCK 256

/* One block, decoded: weight i is scale[i / sub] * value(code[i]) + min[i / sub]. */
struct quant_block {
    uint8_t code[QUANT_MAX_BLOCK];
    float scale[QUANT_MAX_BLOCK / 16], min[QUANT_MAX_BLOCK / 16]; /* min only where the format has_min */
};

struct quant_format {
    enum quant_id id;
    const char *name;                                             /* "Q4_K" */
    int block;                                                    /* weights per block: 1, 32 or 256 */
    int bytes;                                                    /* bytes per block */
    void (*dequantize)(const void *blocks, float *out, size_t n); /* n weights, a multiple of block */

    /* Of formats with blocks; 0 and NULL for F32, F16 and BF16. */
    int sub;              /* weights that share a scale: 16 or 32 */
    int bits;             /* of a code */
    int zero;             /* value(code) = code - zero, 0 with has_min ... */
    const int8_t *values; /* ... or values[code], where not NULL */
    bool has_min;
    void (*decode)(const void *block, struct quant_block *out);
};

const struct quant_format *quant_format(uint32_t id); /* NULL: unknown, or known by name only */

/* Name and size of any format a file may hold, of those too whose weights cannot be read here; NULL if unknown. */
struct quant_layout {
    uint32_t id;
    const char *name;
    int block, bytes; /* as in quant_format */
};
const struct quant_layout *quant_layout(uint32_t id);
#define QUANT_LAYOUTS_MAX 64 /* above every id */

extern const int8_t quant_iq4_values[16]; /* of IQ4_NL and IQ4_XS */

float f16_to_f32(uint16_t h);
uint16_t f32_to_f16(float f); /* round to nearest even */

#endif
