/* vector_avx2.c - vector_body.h for AVX2 with FMA and F16C. */
#include "vector.h"

#include <immintrin.h>

#define LANES 8
#define QUERIES 3 /* x 4 vectors: 12 accumulators of 16 registers */
#define KERNELS vector_avx2
#define KERNELS_NAME "avx2"

typedef float vf __attribute__((vector_size(4 * LANES)));
typedef int32_t vi __attribute__((vector_size(4 * LANES)));

static inline vf v_fma(vf a, vf b, vf c)
{
    return (vf)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
}

static inline vf v_max(vf a, vf b)
{
    return (vf)_mm256_max_ps((__m256)a, (__m256)b);
}

static inline vf v_upper(vf a, int n)
{
    __m256 x = (__m256)a;
    if (n == 4)
        return (vf)_mm256_permute2f128_ps(x, x, 0x81);
    return (vf)(n == 2 ? _mm256_permute_ps(x, 0xee) : _mm256_permute_ps(x, 0x55));
}

static inline vf v_from_half(const uint16_t *h)
{
    return (vf)_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)h));
}

static inline void v_to_half(uint16_t *h, vf v)
{
    _mm_storeu_si128((__m128i *)h, _mm256_cvtps_ph((__m256)v, _MM_FROUND_TO_NEAREST_INT));
}

#include "vector_body.h"
