/*
 * matmul_x86.h - the part of the vocabulary (matmul_body.h) that the x86 sets share. The set has defined VECTORS (1 for
 * 512 bits, 2 for 256) and SIGNED_CODES, and included <immintrin.h>.
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
