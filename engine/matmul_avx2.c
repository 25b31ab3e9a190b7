/*
 * matmul_avx2.c - AVX2 with FMA and F16C.
 */
#include <immintrin.h>

#define VECTORS 2
#define SIGNED_CODES 1
#include "matmul_x86.h"

#define STREAMS(X, ...) X(1, __VA_ARGS__) X(2, __VA_ARGS__) X(3, __VA_ARGS__) X(4, __VA_ARGS__)
#define TILES STREAMS
#define MAX_STREAMED 8

static INLINE __m256i with_sign(__m256i x, __m256i w)
{
    return _mm256_sign_epi8(x, w);
}

#include "matmul_x86_pairs.h"

const struct matmul_kernels matmul_avx2 = MATMUL_SET("avx2");
