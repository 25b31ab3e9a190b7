/*
 * matmul_neon.c - NEON as every 64-bit ARM has it: smlal multiplies 8 signed bytes and adds them to 16 bits each, as
 * often as cannot overflow (a code of b bits adds at most 2^b x 127), then they are widened and added in fours.
 */
#include <arm_neon.h>

#include "matmul_arm.h"

#define STREAMS(X, ...) X(1, __VA_ARGS__) X(2, __VA_ARGS__)
#define TILES STREAMS
#define MAX_STREAMED 2
#define RUN_4 8
#define RUN_5 8
#define RUN_6 4
#define RUN_8 2
#define KEEP_PARTIAL(p) __asm__ volatile("" : "+w"((p).low), "+w"((p).high))

typedef struct {
    int16x8_t low, high; /* of the vector's 16 bytes */
} partial;

static INLINE partial begin_partial(ints sum)
{
    (void)sum;
    return (partial){vdupq_n_s16(0), vdupq_n_s16(0)};
}

static INLINE partial add_dot(partial sum, words w, words x, int bits)
{
    (void)bits;
    int8x16_t a = (int8x16_t)w, b = (int8x16_t)x;
    sum.low = vmlal_s8(sum.low, vget_low_s8(a), vget_low_s8(b));
    sum.high = vmlal_high_s8(sum.high, a, b);
    return sum;
}

static INLINE ints end_partial(ints sum, partial part)
{
    return sum + (ints)vpaddq_s32(vpaddlq_s16(part.low), vpaddlq_s16(part.high));
}

#include "matmul_body.h"

const struct matmul_kernels matmul_neon = MATMUL_SET("neon");
