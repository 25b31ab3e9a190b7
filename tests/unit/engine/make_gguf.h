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
    if (!f || (m->n && fwrite(m->p, 1, m->n, f) != m->n) || fclose(f) != 0) {
        perror(path);
        abort();
    }
}

static inline void make_free(struct maker *m)
{
    free(m->p);
    *m = (struct maker){0};
}

/* A whole vocabulary file whose tokens are the 256 bytes (byte-level BPE without merges, or SentencePiece with byte
 * tokens only), then the special ones, all control tokens; specials[0] is BOS, specials[1] EOS. Any text is exact in
 * it. */
static inline void make_byte_vocab(struct maker *m, int spm, const char *pre, const char *const *specials, size_t n,
                                   const char *jinja, int add_bos)
{
    make_start(m, 3);
    make_key_string(m, "general.architecture", "llama");
    make_key_string(m, "tokenizer.ggml.model", spm ? "llama" : "gpt2");
    make_key_string(m, "tokenizer.ggml.pre", pre);
    make_key_array(m, "tokenizer.ggml.tokens", STRING, 256 + n);
    for (int byte = 0, next = 256; byte < 256; byte++) {
        char token[16];
        int printable = (byte > 32 && byte < 127) || (byte > 160 && byte != 173);
        int cp = printable ? byte : next++;
        if (spm)
            snprintf(token, sizeof token, "<0x%02X>", byte);
        else
            snprintf(token, sizeof token, cp < 128 ? "%c" : "%c%c", cp < 128 ? cp : 0xC0 | cp >> 6, 0x80 | (cp & 63));
        make_string(m, token);
    }
    for (size_t i = 0; i < n; i++)
        make_string(m, specials[i]);
    make_key_array(m, "tokenizer.ggml.token_type", I32, 256 + n);
    for (size_t i = 0; i < 256 + n; i++)
        make_u32(m, i >= 256 ? 3 : spm ? 6 : 1);
    make_key_array(m, "tokenizer.ggml.scores", F32, 256 + n);
    for (size_t i = 0; i < 256 + n; i++)
        make_u32(m, 0);
    make_key_array(m, "tokenizer.ggml.merges", STRING, 0);
    make_key_u32(m, "tokenizer.ggml.bos_token_id", 256);
    make_key_u32(m, "tokenizer.ggml.eos_token_id", 257);
    make_key_bool(m, "tokenizer.ggml.add_bos_token", (unsigned char)add_bos);
    if (jinja)
        make_key_string(m, "tokenizer.chat_template", jinja);
}

/* A path of its own for this process and purpose, below $TMPDIR; valid until the next call with the same buffer. */
static inline const char *make_path(char *buffer, size_t cap, const char *name)
{
    const char *dir = getenv("TMPDIR");
    snprintf(buffer, cap, "%s/chinwag-%ld-%s", dir ? dir : "/tmp", (long)getpid(), name);
    return buffer;
}

#endif
