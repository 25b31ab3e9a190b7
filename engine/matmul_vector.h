/*
 * matmul_vector.h - the vectors the kernels are written in. The including file says how many of them hold the 16 rows
 * (VECTORS: 1, 2 or 4; 16 for plain C), and with the compilers' vector extensions + - & | << >> work on all lanes.
 */
#ifndef MATMUL_VECTOR_H
#define MATMUL_VECTOR_H

#include "quant.h"

#include <stdint.h>
#include <string.h>

#define VECTOR_BYTES (64 / VECTORS)
#define VECTOR_LANES (16 / VECTORS)
#define INLINE inline __attribute__((always_inline))

/* Before a loop of a few fixed turns: without, arrays of vectors would live in memory. */
#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

typedef uint32_t words __attribute__((vector_size(VECTOR_BYTES)));
typedef int32_t ints __attribute__((vector_size(VECTOR_BYTES)));
typedef float floats __attribute__((vector_size(VECTOR_BYTES)));
typedef uint16_t halves __attribute__((vector_size(VECTOR_BYTES / 2)));

static INLINE words load_words(const void *p)
{
    words v;
    memcpy(&v, p, sizeof v);
    return v;
}

static INLINE floats load_floats(const void *p)
{
    floats v;
    memcpy(&v, p, sizeof v);
    return v;
}

static INLINE void store_floats(void *p, floats v)
{
    memcpy(p, &v, sizeof v);
}

/* 16-bit fields, one to a lane. */
static INLINE words load_halves(const void *p)
{
    halves v;
    memcpy(&v, p, sizeof v);
    return __builtin_convertvector(v, words);
}

static INLINE floats to_floats(ints v)
{
    return __builtin_convertvector(v, floats);
}

static INLINE float float_at(const void *p)
{
    float f;
    memcpy(&f, p, sizeof f);
    return f;
}

static INLINE int32_t int_at(const void *p)
{
    int32_t i;
    memcpy(&i, p, sizeof i);
    return i;
}

#endif
