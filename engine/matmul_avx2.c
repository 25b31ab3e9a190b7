/*
 * matmul_avx2.c - AVX2 with FMA and F16C: vpmaddubsw multiplies unsigned by signed bytes and adds pairs into 16 bits, with
 * saturation; so as many steps are added there as cannot overflow (a code of b bits adds at most 2 x (2^b - 1) x 127 each),
 * then pairs of 16 bits are widened and added to 32.
 */
#include <immintrin.h>

#define VECTORS 2
#include "matmul_vector.h"

#define SIGNED_CODES 1
#define TILES(X, ...) X(1, __VA_ARGS__) X(2, __VA_ARGS__) X(3, __VA_ARGS__) X(4, __VA_ARGS__)
#define FLOAT_ROWS 2
#define FLOAT_TOKENS 2
#define RUN_4 8
#define RUN_5 4
#define RUN_6 2
#define RUN_8 1
#define KEEP(v) __asm__ volatile("" : "+x"(v))
#define KEEP_PARTIAL(p) KEEP(p)

typedef __m256i partial;

static INLINE partial begin_partial(ints sum)
{
    (void)sum;
    return _mm256_setzero_si256();
}

/* 8-bit codes are signed bytes here: |w| times x with w's sign. 128 x 127 x 2 still fits 16 bits. */
static INLINE partial add_dot(partial sum, words w, words x, int bits)
{
    __m256i a = (__m256i)w, b = (__m256i)x;
    if (bits == 8)
        return _mm256_maddubs_epi16(_mm256_abs_epi8(a), _mm256_sign_epi8(b, a));
    return _mm256_add_epi16(sum, _mm256_maddubs_epi16(a, b));
}

static INLINE ints end_partial(ints sum, partial part)
{
    return sum + (ints)_mm256_madd_epi16(part, _mm256_set1_epi16(1));
}

static INLINE words splat_step(const void *p)
{
    int step;
    memcpy(&step, p, sizeof step);
    return (words)_mm256_set1_epi32(step);
}

static INLINE words lookup_values(words codes)
{
    __m128i values = _mm_loadu_si128((const __m128i *)quant_iq4_values);
    return (words)_mm256_shuffle_epi8(_mm256_broadcastsi128_si256(values), (__m256i)codes);
}

static INLINE floats fma_floats(floats a, floats b, floats c)
{
    return (floats)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
}

static INLINE floats load_f16(const void *p)
{
    return (floats)_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p));
}

#include "matmul_body.h"

const struct matmul_kernels matmul_avx2 = MATMUL_SET("avx2");
