/*
 * make_gguf.h - writes GGUF files for tests, good ones and bad ones: nothing here checks anything.
 *
 * Start with make_start, then keys, then tensors, then make_data; the counts in the header follow along and can be
 * overwritten at COUNT_TENSORS and COUNT_KEYS before the file is saved.
 */
#ifndef MAKE_GGUF_H
#define MAKE_GGUF_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { U8, I8, U16, I16, U32, I32, F32, BOOL, STRING, ARRAY, U64, I64, F64 };
#define COUNT_TENSORS 8
#define COUNT_KEYS 16

struct maker {
    unsigned char *p;
    size_t n, cap;
};

static inline void make_bytes(struct maker *m, const void *bytes, size_t n)
{
    if (m->cap - m->n < n)
        m->p = realloc(m->p, m->cap = (m->cap + n) * 2 + 64);
    if (n)
        memcpy(m->p + m->n, bytes, n);
    m->n += n;
}

static inline void make_u32(struct maker *m, uint32_t v)
{
    make_bytes(m, &v, 4);
}

static inline void make_u64(struct maker *m, uint64_t v)
{
    make_bytes(m, &v, 8);
}

static inline void make_string(struct maker *m, const char *s)
{
    make_u64(m, strlen(s));
    make_bytes(m, s, strlen(s));
}

static inline void make_patch(struct maker *m, size_t at, uint64_t v)
{
    memcpy(m->p + at, &v, 8);
}

static inline void make_count(struct maker *m, size_t at)
{
    uint64_t v;
    memcpy(&v, m->p + at, 8);
    make_patch(m, at, v + 1);
}

static inline void make_start(struct maker *m, uint32_t version)
{
    *m = (struct maker){0};
    make_bytes(m, "GGUF", 4);
    make_u32(m, version);
    make_u64(m, 0);
    make_u64(m, 0);
}

static inline void make_key(struct maker *m, const char *key, uint32_t type)
{
    make_count(m, COUNT_KEYS);
    make_string(m, key);
    make_u32(m, type);
}

static inline void make_key_u32(struct maker *m, const char *key, uint32_t v)
{
    make_key(m, key, U32);
    make_u32(m, v);
}

static inline void make_key_bool(struct maker *m, const char *key, unsigned char v)
{
    make_key(m, key, BOOL);
    make_bytes(m, &v, 1);
}

static inline void make_key_f32(struct maker *m, const char *key, float v)
{
    make_key(m, key, F32);
    make_bytes(m, &v, 4);
}

static inline void make_key_string(struct maker *m, const char *key, const char *v)
{
    make_key(m, key, STRING);
    make_string(m, v);
}

static inline void make_key_array(struct maker *m, const char *key, uint32_t type, uint64_t n)
{
    make_key(m, key, ARRAY);
    make_u32(m, type);
    make_u64(m, n);
}

static inline void make_key_strings(struct maker *m, const char *key, const char *const *s, size_t n)
{
    make_key_array(m, key, STRING, n);
    for (size_t i = 0; i < n; i++)
        make_string(m, s[i]);
}

static inline void make_tensor(struct maker *m, const char *name, uint32_t n_dims, const uint64_t *dims,
                               uint32_t type, uint64_t offset)
{
    make_count(m, COUNT_TENSORS);
    make_string(m, name);
    make_u32(m, n_dims);
    for (uint32_t i = 0; i < n_dims; i++)
        make_u64(m, dims[i]);
    make_u32(m, type);
    make_u64(m, offset);
}

static inline void make_data(struct maker *m, size_t alignment, size_t n)
{
    unsigned char zero = 0;
    while (m->n % alignment)
        make_bytes(m, &zero, 1);
    for (size_t i = 0; i < n; i++) {
        unsigned char byte = (unsigned char)(i * 7);
        make_bytes(m, &byte, 1);
    }
}

static inline void make_save(const struct maker *m, const char *path)
{
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(m->p, 1, m->n, f) != m->n || fclose(f) != 0) {
        perror(path);
        abort();
    }
}

static inline void make_free(struct maker *m)
{
    free(m->p);
    *m = (struct maker){0};
}

/* A path of its own for this process and purpose, below $TMPDIR; valid until the next call with the same buffer. */
static inline const char *make_path(char *buffer, size_t cap, const char *name)
{
    const char *dir = getenv("TMPDIR");
    snprintf(buffer, cap, "%s/chinwag-%ld-%s", dir ? dir : "/tmp", (long)getpid(), name);
    return buffer;
}

#endif
