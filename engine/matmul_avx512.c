/*
 * matmul_avx512.c - AVX-512 (F, BW, VL, DQ) without VNNI.
 */
#include <immintrin.h>

#define VECTORS 1
#define SIGNED_CODES 1
#include "matmul_x86.h"

#define TILES(X, ...)                                                                                                \
    X(1, __VA_ARGS__) X(2, __VA_ARGS__) X(3, __VA_ARGS__) X(4, __VA_ARGS__) X(8, __VA_ARGS__) X(10, __VA_ARGS__)
#define STREAMS TILES
#define MAX_STREAMED 20

static INLINE __m512i with_sign(__m512i x, __m512i w)
{
    return _mm512_mask_sub_epi8(x, _mm512_movepi8_mask(w), _mm512_setzero_si512(), x);
}

#include "matmul_x86_pairs.h"

const struct matmul_kernels matmul_avx512 = MATMUL_SET("avx512");
