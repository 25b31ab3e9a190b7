/* vector.c - see vector.h: which vector kernels go with which kernel set. */
#include "vector.h"

#include <string.h>

static const struct {
    const char *set;
    const struct vector_kernels *kernels;
} table[] = {
    {"scalar", &vector_scalar},
#if defined(__x86_64__)
    {"avx2", &vector_avx2},     {"avxvnni", &vector_avx2}, {"avx512", &vector_avx512}, {"avx512vnni", &vector_avx512},
#elif defined(__aarch64__)
    {"neon", &vector_neon},
    {"neondot", &vector_neon},
#endif
};

const struct vector_kernels *vector_kernels(const char *set)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strcmp(table[i].set, set) == 0)
            return table[i].kernels;
    return NULL;
}
