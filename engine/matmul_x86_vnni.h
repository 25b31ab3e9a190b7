/*
 * matmul_x86_vnni.h - sets with VNNI: vpdpbusd multiplies unsigned by signed bytes and adds them in fours to 32 bits,
 * so nothing can overflow on the way. The set has defined VECTORS, TILES and DPBUSD, the instruction.
 */
#ifndef MATMUL_X86_VNNI_H
#define MATMUL_X86_VNNI_H

#define SIGNED_CODES 0
#include "matmul_x86.h"

#define RUN_4 8
#define RUN_5 8
#define RUN_6 8
#define RUN_8 8

typedef ints partial;

static INLINE partial begin_partial(ints sum)
{
    return sum;
}

static INLINE partial add_dot(partial sum, words w, words x, int bits)
{
    (void)bits;
    return (partial)DPBUSD((x86_bytes)sum, (x86_bytes)w, (x86_bytes)x);
}

static INLINE ints end_partial(ints sum, partial part)
{
    (void)sum;
    return part;
}

#include "matmul_body.h"

#endif
