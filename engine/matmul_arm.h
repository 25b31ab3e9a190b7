/*
 * matmul_arm.h - the part of the vocabulary (matmul_body.h) that both NEON sets share. Included after <arm_neon.h>.
 */
#ifndef MATMUL_ARM_H
#define MATMUL_ARM_H

#define VECTORS 4
#include "matmul_vector.h"

#define SIGNED_CODES 1
#define FLOAT_ROWS 2
#define FLOAT_TOKENS 2
#define KEEP(v) __asm__ volatile("" : "+w"(v))

static INLINE words splat_step(const void *p)
{
    uint32_t step;
    memcpy(&step, p, sizeof step);
    return (words)vdupq_n_u32(step);
}

static INLINE words lookup_values(words codes)
{
    return (words)vqtbl1q_s8(vld1q_s8(quant_iq4_values), (uint8x16_t)codes);
}

static INLINE int32_t dot_nibbles(const unsigned char *low, const unsigned char *q)
{
    uint8x16_t l = vld1q_u8(low);
    int8x16_t early = vreinterpretq_s8_u8(vandq_u8(l, vdupq_n_u8(15))), late = vreinterpretq_s8_u8(vshrq_n_u8(l, 4));
    int8x16_t a = vld1q_s8((const int8_t *)q), b = vld1q_s8((const int8_t *)q + 16);
    int16x8_t sum = vmull_s8(vget_low_s8(early), vget_low_s8(a));
    sum = vmlal_high_s8(vmlal_s8(vmlal_high_s8(sum, early, a), vget_low_s8(late), vget_low_s8(b)), late, b);
    return vaddlvq_s16(sum);
}

static INLINE void transpose_rows(const unsigned char *p, size_t row_bytes, words w[4])
{
    uint32x4_t r[4];
    for (size_t i = 0; i < 4; i++)
        r[i] = vreinterpretq_u32_u8(vld1q_u8(p + i * row_bytes));
    uint64x2_t a = vreinterpretq_u64_u32(vtrn1q_u32(r[0], r[1])), b = vreinterpretq_u64_u32(vtrn2q_u32(r[0], r[1]));
    uint64x2_t c = vreinterpretq_u64_u32(vtrn1q_u32(r[2], r[3])), d = vreinterpretq_u64_u32(vtrn2q_u32(r[2], r[3]));
    w[0] = (words)vtrn1q_u64(a, c);
    w[1] = (words)vtrn1q_u64(b, d);
    w[2] = (words)vtrn2q_u64(a, c);
    w[3] = (words)vtrn2q_u64(b, d);
}

static INLINE floats fma_floats(floats a, floats b, floats c)
{
    return (floats)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
}

static INLINE floats load_f16(const void *p)
{
    uint16x4_t half;
    memcpy(&half, p, sizeof half);
    return (floats)vcvt_f32_f16(vreinterpret_f16_u16(half));
}

#endif
