/*
 * matmul_quantize.h - activations to int8, in plain C that every compiler turns into vectors; compiled into each set.
 */
#ifndef MATMUL_QUANTIZE_H
#define MATMUL_QUANTIZE_H

#include "matmul.h"

#include <string.h>

/* 32 floats to int8 at a scale of max|x| / 127, rounded to nearest even. Magnitudes are compared as integers, which unlike floats
 * compilers vectorize, and which orders NaN above infinity: a block with either gives a scale of that kind. */
static inline float quantize_block(const float *x, int8_t *q, int32_t *sum)
{
    uint32_t bits[32], max = 0;
    memcpy(bits, x, sizeof bits);
    for (int i = 0; i < 32; i++) {
        uint32_t magnitude = bits[i] & 0x7fffffff;
        max = magnitude > max ? magnitude : max;
    }
    float largest;
    memcpy(&largest, &max, sizeof largest);
    /* So small that 127 / largest would overflow: zero. */
    float inverse = largest < 1e-36f ? 0 : 127 / largest;
    int32_t total = 0;
    for (int i = 0; i < 32; i++) {
        /* Adding 1.5 x 2^23 leaves the rounded integer in the low bits (two's complement). */
        float shifted = x[i] * inverse + 12582912.0f;
        int32_t integer;
        memcpy(&integer, &shifted, sizeof integer);
        q[i] = (int8_t)integer;
        total += q[i];
    }
    *sum = total;
    return largest < 1e-36f ? 0 : largest / 127;
}

static void quantize(struct activations *a, int j0, int j1)
{
    size_t blocks = (size_t)(a->cols / 32);
    for (size_t b = (size_t)j0 * blocks; b < (size_t)j1 * blocks; b++)
        a->d[b] = quantize_block(a->f + 32 * b, a->q + 32 * b, &a->sum[b]);
}

#endif
