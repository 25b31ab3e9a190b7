/* vector_avx512.c - vector_body.h for AVX512 (F, BW, VL, DQ). */
#include "vector.h"

#include <immintrin.h>

#define LANES 16
#define QUERIES 4 /* x 4 vectors: 16 accumulators of 32 registers */
#define KERNELS vector_avx512
#define KERNELS_NAME "avx512"

typedef float vf __attribute__((vector_size(4 * LANES)));
typedef int32_t vi __attribute__((vector_size(4 * LANES)));

static inline vf v_fma(vf a, vf b, vf c)
{
    return (vf)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
}

static inline vf v_max(vf a, vf b)
{
    return (vf)_mm512_max_ps((__m512)a, (__m512)b);
}

static inline vf v_upper(vf a, int n)
{
    __m512 x = (__m512)a;
    if (n >= 4)
        return (vf)(n == 8 ? _mm512_shuffle_f32x4(x, x, 0xee) : _mm512_shuffle_f32x4(x, x, 0x55));
    return (vf)(n == 2 ? _mm512_permute_ps(x, 0xee) : _mm512_permute_ps(x, 0x55));
}

static inline vf v_from_half(const uint16_t *h)
{
    return (vf)_mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)h));
}

static inline void v_to_half(uint16_t *h, vf v)
{
    _mm256_storeu_si256((__m256i *)h, _mm512_cvtps_ph((__m512)v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

#include "vector_body.h"
