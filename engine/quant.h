/*
 * quant.h - the weight formats of GGUF files: one table, and each format's exact meaning as scalar code.
 *
 * Names, ids and layouts are those of ggml (ggml.h, ggml-common.h): a row of `cols` weights is cols / block blocks of
 * `bytes` bytes. What a block means is defined by its dequantize function, the reference every kernel is tested against.
 */
#ifndef QUANT_H
#define QUANT_H

#include <stddef.h>
#include <stdint.h>

enum quant_id { /* ggml_type */
    QUANT_F32 = 0, QUANT_F16 = 1, QUANT_Q4_0 = 2, QUANT_Q4_1 = 3, QUANT_Q5_0 = 6, QUANT_Q5_1 = 7, QUANT_Q8_0 = 8,
    QUANT_Q2_K = 10, QUANT_Q3_K = 11, QUANT_Q4_K = 12, QUANT_Q5_K = 13, QUANT_Q6_K = 14, QUANT_IQ4_NL = 20,
    QUANT_IQ4_XS = 23, QUANT_BF16 = 30,
};

struct quant_format {
    enum quant_id id;
    const char *name;  /* "Q4_K" */
    int block;         /* weights per block: 1, 32 or 256 */
    int bytes;         /* bytes per block */
    void (*dequantize)(const void *blocks, float *out, size_t n); /* n weights, a multiple of block */
};

const struct quant_format *quant_format(uint32_t id); /* NULL if unknown */

float f16_to_f32(uint16_t h);
uint16_t f32_to_f16(float f); /* round to nearest even */

#endif
