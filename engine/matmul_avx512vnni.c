/*
 * matmul_avx512vnni.c - AVX-512 with VNNI: vpdpbusd multiplies 64 unsigned by signed bytes and adds them in fours.
 */
#include <immintrin.h>

#define VECTORS 1
#include "matmul_vector.h"

#define SIGNED_CODES 0
#define TILES(X, ...) X(2, __VA_ARGS__) X(4, __VA_ARGS__) X(8, __VA_ARGS__) X(12, __VA_ARGS__)
#define FLOAT_ROWS 4
#define FLOAT_TOKENS 4
#define RUN_4 8
#define RUN_5 8
#define RUN_6 8
#define RUN_8 8
#define KEEP(v) __asm__ volatile("" : "+v"(v))
#define KEEP_PARTIAL(p) KEEP(p)

typedef ints partial;

static INLINE partial begin_partial(ints sum)
{
    return sum;
}

static INLINE partial add_dot(partial sum, words w, words x, int bits)
{
    (void)bits;
    return (partial)_mm512_dpbusd_epi32((__m512i)sum, (__m512i)w, (__m512i)x);
}

static INLINE ints end_partial(ints sum, partial part)
{
    (void)sum;
    return part;
}

static INLINE words splat_step(const void *p)
{
    int step;
    memcpy(&step, p, sizeof step);
    return (words)_mm512_set1_epi32(step);
}

static INLINE words lookup_values(words codes)
{
    __m128i values = _mm_xor_si128(_mm_loadu_si128((const __m128i *)quant_iq4_values), _mm_set1_epi8(-128));
    return (words)_mm512_shuffle_epi8(_mm512_broadcast_i32x4(values), (__m512i)codes);
}

static INLINE floats fma_floats(floats a, floats b, floats c)
{
    return (floats)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
}

static INLINE floats load_f16(const void *p)
{
    return (floats)_mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p));
}

#include "matmul_body.h"

const struct matmul_kernels matmul_avx512vnni = MATMUL_SET("avx512vnni");
