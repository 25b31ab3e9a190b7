/*
 * matmul_x86.h - the part of the vocabulary (matmul_body.h) that the x86 sets share. The set has defined VECTORS (1
 * for 512 bits, 2 for 256) and SIGNED_CODES, and included <immintrin.h>.
 */
#ifndef MATMUL_X86_H
#define MATMUL_X86_H

#include "matmul_vector.h"

#if VECTORS == 1
#define KEEP(v) __asm__ volatile("" : "+v"(v))
#define FLOAT_ROWS 4
#define FLOAT_TOKENS 4
#define X86(operation) _mm512_##operation
typedef __m512i x86_bytes;
typedef __m512 x86_floats;
#else
#define KEEP(v) __asm__ volatile("" : "+x"(v))
#define FLOAT_ROWS 2
#define FLOAT_TOKENS 2
#define X86(operation) _mm256_##operation
typedef __m256i x86_bytes;
typedef __m256 x86_floats;
#endif
#define KEEP_PARTIAL(p) KEEP(p)

static INLINE words splat_step(const void *p)
{
    int step;
    memcpy(&step, p, sizeof step);
    return (words)X86(set1_epi32)(step);
}

static INLINE words lookup_values(words codes)
{
    __m128i values = _mm_loadu_si128((const __m128i *)quant_iq4_values);
    if (!SIGNED_CODES)
        values = _mm_xor_si128(values, _mm_set1_epi8(-128));
#if VECTORS == 1
    return (words)_mm512_shuffle_epi8(_mm512_broadcast_i32x4(values), (__m512i)codes);
#else
    return (words)_mm256_shuffle_epi8(_mm256_broadcastsi128_si256(values), (__m256i)codes);
#endif
}

static INLINE int32_t dot_nibbles(const unsigned char *low, const unsigned char *q)
{
    __m128i l = _mm_loadu_si128((const __m128i *)low), mask = _mm_set1_epi8(15);
    __m128i early = _mm_maddubs_epi16(_mm_and_si128(l, mask), _mm_loadu_si128((const __m128i *)q));
    __m128i late =
        _mm_maddubs_epi16(_mm_and_si128(_mm_srli_epi16(l, 4), mask), _mm_loadu_si128((const __m128i *)(q + 16)));
    __m128i sum = _mm_madd_epi16(_mm_add_epi16(early, late), _mm_set1_epi16(1));
    sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0x4e));
    return _mm_cvtsi128_si32(_mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0xb1)));
}

/* 16 bytes of every fourth row. */
static INLINE x86_bytes load_rows(const unsigned char *p, size_t row_bytes)
{
#define ROW(i) _mm_loadu_si128((const __m128i *)(p + 4 * (i)*row_bytes))
#if VECTORS == 1
    __m512i v = _mm512_inserti32x4(_mm512_castsi128_si512(ROW(0)), ROW(1), 1);
    return _mm512_inserti32x4(_mm512_inserti32x4(v, ROW(2), 2), ROW(3), 3);
#else
    return _mm256_inserti128_si256(_mm256_castsi128_si256(ROW(0)), ROW(1), 1);
#endif
#undef ROW
}

static INLINE void transpose_rows(const unsigned char *p, size_t row_bytes, words w[4])
{
    x86_bytes r[4];
    UNROLL
    for (size_t i = 0; i < 4; i++)
        r[i] = load_rows(p + i * row_bytes, row_bytes);
    x86_bytes a = X86(unpacklo_epi32)(r[0], r[1]), b = X86(unpackhi_epi32)(r[0], r[1]);
    x86_bytes c = X86(unpacklo_epi32)(r[2], r[3]), d = X86(unpackhi_epi32)(r[2], r[3]);
    w[0] = (words)X86(unpacklo_epi64)(a, c);
    w[1] = (words)X86(unpackhi_epi64)(a, c);
    w[2] = (words)X86(unpacklo_epi64)(b, d);
    w[3] = (words)X86(unpackhi_epi64)(b, d);
}

static INLINE floats fma_floats(floats a, floats b, floats c)
{
    return (floats)X86(fmadd_ps)((x86_floats)a, (x86_floats)b, (x86_floats)c);
}

static INLINE floats load_f16(const void *p)
{
#if VECTORS == 1
    return (floats)_mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p));
#else
    return (floats)_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p));
#endif
}

#endif
