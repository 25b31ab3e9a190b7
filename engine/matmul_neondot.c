/*
 * matmul_neondot.c - NEON with the dot-product instructions: sdot multiplies 16 signed bytes and adds them in fours.
 */
#include <arm_neon.h>

#include "matmul_arm.h"

#define STREAMS(X, ...) X(1, __VA_ARGS__) X(2, __VA_ARGS__) X(4, __VA_ARGS__)
#define TILES STREAMS
#define MAX_STREAMED 4
#define RUN_4 8
#define RUN_5 8
#define RUN_6 8
#define RUN_8 8
#define KEEP_PARTIAL(p) KEEP(p)

typedef ints partial;

static INLINE partial begin_partial(ints sum)
{
    return sum;
}

static INLINE partial add_dot(partial sum, words w, words x, int bits)
{
    (void)bits;
    return (partial)vdotq_s32((int32x4_t)sum, (int8x16_t)w, (int8x16_t)x);
}

static INLINE ints end_partial(ints sum, partial part)
{
    (void)sum;
    return part;
}

#include "matmul_body.h"

const struct matmul_kernels matmul_neondot = MATMUL_SET("neondot");
