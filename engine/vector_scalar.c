/* vector_scalar.c - vector_body.h for any CPU: four lanes that the compiler maps to what there is, no fused
 * multiply-add. */
#include "quant.h"
#include "vector.h"

#define LANES 4
#define QUERIES 2
#define KERNELS vector_scalar
#define KERNELS_NAME "scalar"

typedef float vf __attribute__((vector_size(4 * LANES)));
typedef int32_t vi __attribute__((vector_size(4 * LANES)));

static inline vf v_fma(vf a, vf b, vf c)
{
    return a * b + c;
}

static inline vf v_max(vf a, vf b)
{
    vi m = a > b;
    return (vf)(((vi)a & m) | ((vi)b & ~m));
}

static inline vf v_upper(vf a, int n)
{
    return n == 2 ? (vf){a[2], a[3], a[2], a[3]} : (vf){a[1], a[1], a[1], a[1]};
}

static inline vf v_from_half(const uint16_t *h)
{
    vf v;
    for (int i = 0; i < LANES; i++)
        v[i] = f16_to_f32(h[i]);
    return v;
}

static inline void v_to_half(uint16_t *h, vf v)
{
    for (int i = 0; i < LANES; i++)
        h[i] = f32_to_f16(v[i]);
}

#include "vector_body.h"
