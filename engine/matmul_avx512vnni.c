/*
 * matmul_avx512vnni.c - AVX-512 with VNNI.
 */
#include <immintrin.h>

#define VECTORS 1
#define TILES(X, ...)                                                                                                \
    X(1, __VA_ARGS__) X(2, __VA_ARGS__) X(3, __VA_ARGS__) X(4, __VA_ARGS__) X(8, __VA_ARGS__) X(12, __VA_ARGS__)
#define STREAMS TILES
#define MAX_STREAMED 24
#define DPBUSD _mm512_dpbusd_epi32
#include "matmul_x86_vnni.h"

const struct matmul_kernels matmul_avx512vnni = MATMUL_SET("avx512vnni");
