/*
 * matmul_avx512.c - AVX-512 without VNNI: as matmul_avx2.c, twice as wide.
 */
#include <immintrin.h>

#define VECTORS 1
#include "matmul_vector.h"

#define SIGNED_CODES 1
#define TILES(X, ...) X(2, __VA_ARGS__) X(4, __VA_ARGS__) X(8, __VA_ARGS__) X(10, __VA_ARGS__)
#define FLOAT_ROWS 4
#define FLOAT_TOKENS 4
#define RUN_4 8
#define RUN_5 4
#define RUN_6 2
#define RUN_8 1
#define KEEP(v) __asm__ volatile("" : "+v"(v))
#define KEEP_PARTIAL(p) KEEP(p)

typedef __m512i partial;

static INLINE partial begin_partial(ints sum)
{
    (void)sum;
    return _mm512_setzero_si512();
}

/* 8-bit codes are signed bytes here: |w| times x with w's sign, which AVX-512 gives by a mask. */
static INLINE partial add_dot(partial sum, words w, words x, int bits)
{
    __m512i a = (__m512i)w, b = (__m512i)x;
    if (bits == 8)
        return _mm512_maddubs_epi16(_mm512_abs_epi8(a),
                                    _mm512_mask_sub_epi8(b, _mm512_movepi8_mask(a), _mm512_setzero_si512(), b));
    return _mm512_add_epi16(sum, _mm512_maddubs_epi16(a, b));
}

static INLINE ints end_partial(ints sum, partial part)
{
    return sum + (ints)_mm512_madd_epi16(part, _mm512_set1_epi16(1));
}

static INLINE words splat_step(const void *p)
{
    int step;
    memcpy(&step, p, sizeof step);
    return (words)_mm512_set1_epi32(step);
}

static INLINE words lookup_values(words codes)
{
    __m128i values = _mm_loadu_si128((const __m128i *)quant_iq4_values);
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

const struct matmul_kernels matmul_avx512 = MATMUL_SET("avx512");
