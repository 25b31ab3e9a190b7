/* vector_neon.c - vector_body.h for 64-bit ARM: fused multiply-add and half conversions are in its base. */
#include "vector.h"

#include <arm_neon.h>

#define LANES 4
#define QUERIES 4 /* x 4 vectors: 16 accumulators of 32 registers */
#define KERNELS vector_neon
#define KERNELS_NAME "neon"

typedef float vf __attribute__((vector_size(4 * LANES)));
typedef int32_t vi __attribute__((vector_size(4 * LANES)));

static inline vf v_fma(vf a, vf b, vf c)
{
    return (vf)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
}

static inline vf v_max(vf a, vf b)
{
    return (vf)vmaxnmq_f32((float32x4_t)a, (float32x4_t)b);
}

static inline vf v_upper(vf a, int n)
{
    return n == 2 ? (vf){a[2], a[3], a[2], a[3]} : (vf){a[1], a[1], a[1], a[1]};
}

static inline vf v_from_half(const uint16_t *h)
{
    return (vf)vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(h)));
}

static inline void v_to_half(uint16_t *h, vf v)
{
    vst1_u16(h, vreinterpret_u16_f16(vcvt_f16_f32((float32x4_t)v)));
}

#include "vector_body.h"
