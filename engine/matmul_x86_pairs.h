/*
 * matmul_x86_pairs.h - sets without VNNI: vpmaddubsw multiplies unsigned by signed bytes and adds pairs to 16 bits,
 * saturating. A pair of codes of b bits makes at most 2 x (2^b - 1) x 127; as many steps are added as stay below
 * 2^15, then pairs of 16 bits are widened and added to 32. Codes of 8 bits are made signed: |w| is multiplied by x
 * with w's sign, and 128 x 127 x 2 still fits. The set has defined VECTORS, TILES and with_sign(x, w): x where w > 0,
 * -x where w < 0, anything where it is 0.
 */
#ifndef MATMUL_X86_PAIRS_H
#define MATMUL_X86_PAIRS_H

#define RUN_4 8
#define RUN_5 4
#define RUN_6 2
#define RUN_8 1

typedef x86_bytes partial;

static INLINE partial begin_partial(ints sum)
{
    (void)sum;
    return (x86_bytes){0};
}

static INLINE partial add_dot(partial sum, words w, words x, int bits)
{
    x86_bytes a = (x86_bytes)w, b = (x86_bytes)x;
    if (bits == 8)
        return X86(maddubs_epi16)(X86(abs_epi8)(a), with_sign(b, a));
    return X86(add_epi16)(sum, X86(maddubs_epi16)(a, b));
}

static INLINE ints end_partial(ints sum, partial part)
{
    return sum + (ints)X86(madd_epi16)(part, X86(set1_epi16)(1));
}

#include "matmul_body.h"

#endif
