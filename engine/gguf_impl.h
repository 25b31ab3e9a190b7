/* gguf_impl.h - what gguf.c (files, look-up, getters) and gguf_parse.c (every check) share. */
#ifndef GGUF_IMPL_H
#define GGUF_IMPL_H

#include "gguf.h"

#include <string.h>

struct gguf_part {
    char *path;
    unsigned char *data; /* the whole file */
    size_t size;
    bool mapped;         /* pages come from the file; else from an anonymous mapping it was read into */
    size_t header_bytes; /* magic, metadata and tensor table */
};

struct gguf {
    struct gguf_part *parts;
    size_t n_parts;
    struct gguf_value *values;        /* of the first part, in the file's order */
    const struct gguf_value **by_key; /* the same, sorted */
    size_t n_values;
    struct gguf_tensor *tensors;        /* of all parts, in the files' order */
    const struct gguf_tensor **by_name; /* the same, sorted */
    size_t n_tensors;
    uint64_t fingerprint;
};

/* Bytewise order, shorter first where one is the start of the other. */
int gguf_string_compare(struct gguf_string a, struct gguf_string b);

/* Parses one of g->parts (data, size, path set): appends its tensors to g, and its values where it is the first;
 * those of later parts only have to be well formed. */
bool gguf_parse_part(struct gguf *g, struct gguf_part *part, char *err, size_t cap);

/* Sorts by_key and by_name anew, refuses duplicates. */
bool gguf_index(struct gguf *g, char *err, size_t cap);

size_t gguf_type_bytes(enum gguf_type type); /* 0 for strings and arrays */

/* Little-endian, unaligned, up to 8 bytes. */
static inline uint64_t gguf_load(const unsigned char *p, size_t bytes)
{
    uint64_t v = 0;
    memcpy(&v, p, bytes);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    v = __builtin_bswap64(v);
#endif
    return v;
}

#endif
