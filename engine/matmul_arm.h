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
