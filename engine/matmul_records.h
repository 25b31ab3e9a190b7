/*
 * matmul_records.h - activations as the kernels read them, and how they come to be.
 *
 * Tokens form tiles of the widths a set has kernels for: as many of the widest as fit, then one that takes the rest,
 * filled up with zeros. A tile of T tokens is cols / 32 records, each of 32 columns:
 *
 *     int8_t  q[8][T][4]   in steps of 4 columns
 *     float   d[T]         scale: x is about d * q
 *     int32_t neg[T]       -sum of q: times a format's zero it is where a sum of products begins
 *     int32_t neg_low[T]   the same of the first 16 columns
 *     float   dsum[T]      d * sum of q: what a minimum is multiplied by
 */
#ifndef MATMUL_RECORDS_H
#define MATMUL_RECORDS_H

#include "matmul.h"

#include <string.h>

#define RECORD_TOKEN_BYTES 48 /* of one token in one record */
#define RECORD_D(tokens) (32 * (tokens))
#define RECORD_NEG(tokens) (36 * (tokens))
#define RECORD_NEG_LOW(tokens) (40 * (tokens))
#define RECORD_DSUM(tokens) (44 * (tokens))

#define MAX_TILE_TOKENS 16

struct tile {
    int j, n;   /* the first token, and how many there are */
    int kernel; /* index of the kernel's width among the set's */
    int tokens; /* that width: at least n */
    unsigned char *records;
};

/* The tile that token j is in. widths: 1, then ascending, then 0. */
static inline struct tile tile_of(const struct activations *a, const int *widths, int j)
{
    int widest = 0, kernel = 0;
    while (widths[widest + 1])
        widest++;
    int wide = widths[widest], first = j / wide * wide, left = a->n - first;
    while (widths[kernel] < left && kernel < widest)
        kernel++;
    return (struct tile){
        .j = first,
        .n = left < wide ? left : wide,
        .kernel = kernel,
        .tokens = widths[kernel],
        .records = a->records + (size_t)first * (size_t)(a->cols / 32) * RECORD_TOKEN_BYTES,
    };
}

/* 32 floats become token t of a record, at a scale of max|x| / 127, rounded to nearest even. Plain C that compilers
 * turn into vectors: magnitudes are compared as integers, which also puts NaN above infinity. */
static inline void quantize_block(const float *x, int t, int tokens, unsigned char *record)
{
    uint32_t max = 0;
    for (int i = 0; i < 32; i++) {
        uint32_t magnitude;
        memcpy(&magnitude, x + i, sizeof magnitude);
        magnitude &= 0x7fffffff;
        max = magnitude > max ? magnitude : max;
    }
    float largest;
    memcpy(&largest, &max, sizeof largest);
    if (largest < 1e-36f) /* 127 / largest would overflow */
        largest = 0;
    float inverse = largest > 0 ? 127 / largest : 0, d = largest / 127;
    uint32_t integers[32], neg_low = 0, neg = 0;
    for (int i = 0; i < 32; i++) {
        /* Adding 1.5 x 2^23 = 0x4b400000 leaves the rounded integer in the low bits (two's complement). */
        float shifted = x[i] * inverse + 12582912.0f;
        memcpy(&integers[i], &shifted, sizeof shifted);
    }
    /* Of NaN or infinity the low byte is anything, so what is summed is that byte: d alone carries that x is not
     * finite. */
    int8_t q[32];
    for (int i = 0; i < 32; i++)
        q[i] = (int8_t)integers[i];
    for (int i = 0; i < 16; i++)
        neg_low -= (uint32_t)q[i];
    for (int i = 0; i < 32; i++)
        neg -= (uint32_t)q[i];
    float dsum = d * -(float)(int32_t)neg;
    unsigned char *lane = record + 4 * t;
    for (int s = 0; s < 8; s++)
        memcpy(lane + 4 * s * tokens, q + 4 * s, 4);
    memcpy(lane + RECORD_D(tokens), &d, 4);
    memcpy(lane + RECORD_NEG(tokens), &neg, 4);
    memcpy(lane + RECORD_NEG_LOW(tokens), &neg_low, 4);
    memcpy(lane + RECORD_DSUM(tokens), &dsum, 4);
}

/* matmul_kernels.quantize of a set with these widths. */
static inline void quantize_tokens(struct activations *a, const int *widths, int j0, int j1)
{
    static const float zeros[32];
    struct tile t = {.n = 0};
    for (int j = j0; j < j1; j++) {
        if (j >= t.j + t.n)
            t = tile_of(a, widths, j);
        const float *x = a->f + (size_t)j * (size_t)a->cols;
        size_t record_bytes = (size_t)t.tokens * RECORD_TOKEN_BYTES;
        for (int b = 0; b < a->cols / 32; b++) {
            unsigned char *record = t.records + (size_t)b * record_bytes;
            quantize_block(x + 32 * b, j - t.j, t.tokens, record);
            if (j == a->n - 1)
                for (int i = t.n; i < t.tokens; i++)
                    quantize_block(zeros, i, t.tokens, record);
        }
    }
}

#endif
