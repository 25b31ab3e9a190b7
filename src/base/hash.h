/*
 * hash.h - FNV-1a, 64 bits (http://www.isthe.com/chongo/tech/comp/fnv/). Start with HASH_START and feed it each run of
 * bytes.
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_START 0xcbf29ce484222325u

static inline uint64_t hash_fnv1a(uint64_t hash, const void *bytes, size_t n)
{
    const unsigned char *byte = bytes;
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ byte[i]) * 0x100000001b3u;
    return hash;
}

#endif
