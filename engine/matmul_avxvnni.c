/*
 * matmul_avxvnni.c - AVX2 with AVX-VNNI, the 256-bit form of VNNI without AVX-512.
 */
#include <immintrin.h>

#define VECTORS 2
#define HAS_TOP 0 /* multiply_top has not run on such a CPU yet: with 1, test_matmul_top tries it */
#define STREAMS(X, ...) X(1, __VA_ARGS__) X(2, __VA_ARGS__) X(3, __VA_ARGS__) X(4, __VA_ARGS__)
#define TILES STREAMS
#define MAX_STREAMED 8
#define DPBUSD _mm256_dpbusd_epi32
#include "matmul_x86_vnni.h"

const struct matmul_kernels matmul_avxvnni = MATMUL_SET("avxvnni");
