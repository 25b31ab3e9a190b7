/* tokenizer_vocab.c - the tokens of a file as the bytes they stand for, and a hash to find them by. */
#include "../src/base/mem.h"
#include "tokenizer_impl.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- the byte-level alphabet ---------------------------------------------------------------------------- */

static bool prints_itself(int byte)
{
    return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

/* GPT-2's bytes_to_unicode (encoder.py of the original): printable Latin-1 stands for itself, the other bytes for the
 * code points from U+0100 on, in order. */
static void build_alphabet(struct tokenizer *t)
{
    for (int byte = 0, next = 0x100; byte < 256; byte++)
        t->alphabet[prints_itself(byte) ? byte : next++] = (uint16_t)(byte + 1);
}

size_t vocab_unmap(const struct tokenizer *t, const char *text, size_t n, char *out)
{
    const unsigned char *s = (const unsigned char *)text;
    size_t at = 0;
    for (size_t i = 0; i < n; at++) {
        unsigned cp = s[i++];
        if (cp >= 0x80) {
            if ((cp & 0xE0) != 0xC0 || i == n || (s[i] & 0xC0) != 0x80)
                return 0;
            cp = (cp & 0x1F) << 6 | (s[i++] & 0x3F);
        }
        if (cp >= VOCAB_ALPHABET || !t->alphabet[cp])
            return 0;
        out[at] = (char)(t->alphabet[cp] - 1);
    }
    return at;
}

/* ---- hash ----------------------------------------------------------------------------------------------- */

static inline uint64_t load64(const char *p)
{
    uint64_t v;
    memcpy(&v, p, 8);
    return v;
}

static inline uint64_t load32(const char *p)
{
    uint32_t v;
    memcpy(&v, p, 4);
    return v;
}

static inline uint64_t hash_bytes(uint64_t seed, const char *p, size_t n)
{
    const uint64_t k1 = 0xA0761D6478BD642F, k2 = 0xE7037ED1A0B428DB; /* odd, half of the bits set (wyhash) */
    uint64_t h = seed ^ n, tail = 0;
    for (; n > 8; n -= 8, p += 8)
        h = vocab_fold(h ^ load64(p), k1);
    if (n >= 4)
        tail = load32(p) | load32(p + n - 4) << 32;
    else if (n)
        tail = (uint64_t)(unsigned char)p[0] | (uint64_t)(unsigned char)p[n / 2] << 8 |
               (uint64_t)(unsigned char)p[n - 1] << 16;
    return vocab_fold(h ^ tail, k2 ^ seed);
}

uint32_t vocab_table_size(uint64_t n)
{
    uint32_t size = 16;
    while (size < n + n / 2)
        size *= 2;
    return size;
}

bool vocab_is(const struct tokenizer *t, int32_t id, const char *bytes, size_t n, unsigned types)
{
    uint32_t at = t->offset[id];
    return t->offset[id + 1] - at == n && (TYPE_BIT(t->type[id]) & types) && memcmp(t->bytes + at, bytes, n) == 0;
}

uint64_t vocab_hash(const struct tokenizer *t, const char *bytes, size_t n)
{
    uint64_t h = hash_bytes(t->seed, bytes, n);
    __builtin_prefetch(&t->slots[(uint32_t)h & t->slot_mask]);
    return h;
}

int32_t vocab_find_hashed(const struct tokenizer *t, uint64_t h, const char *bytes, size_t n, unsigned types)
{
    for (uint32_t i = (uint32_t)h & t->slot_mask; t->slots[i].id >= 0; i = (i + 1) & t->slot_mask) {
        if (t->slots[i].tag == (uint32_t)(h >> 32) && vocab_is(t, t->slots[i].id, bytes, n, types))
            return t->slots[i].id;
    }
    return -1;
}

int32_t vocab_find(const struct tokenizer *t, const char *bytes, size_t n, unsigned types)
{
    if (n == 0 || n > t->longest)
        return -1;
    return vocab_find_hashed(t, hash_bytes(t->seed, bytes, n), bytes, n, types);
}

/* Where two tokens have the same bytes and type the first one counts, and the table stays free of long chains of
 * equals. */
static void insert(struct tokenizer *t, int32_t id, uint64_t h)
{
    const char *bytes = t->bytes + t->offset[id];
    size_t n = t->offset[id + 1] - t->offset[id];
    uint32_t i = (uint32_t)h & t->slot_mask;
    for (; t->slots[i].id >= 0; i = (i + 1) & t->slot_mask) {
        if (t->slots[i].tag == (uint32_t)(h >> 32) && vocab_is(t, t->slots[i].id, bytes, n, TYPE_BIT(t->type[id])))
            return;
    }
    t->slots[i] = (struct vocab_slot){(uint32_t)(h >> 32), id};
}

/* The slots lie all over a table larger than the cache: by hashing some tokens ahead the waits for them overlap. */
static void build_hash(struct tokenizer *t)
{
    uint32_t size = vocab_table_size((uint64_t)t->n_vocab);
    t->slot_mask = size - 1;
    t->slots = mem_alloc(size * sizeof *t->slots);
    memset(t->slots, 0xFF, size * sizeof *t->slots);
    uint64_t ahead[VOCAB_AHEAD];
    for (int32_t first = 0; first < t->n_vocab; first += VOCAB_AHEAD) {
        int32_t n = t->n_vocab - first < VOCAB_AHEAD ? t->n_vocab - first : VOCAB_AHEAD;
        const uint32_t *at = t->offset + first;
        for (int32_t i = 0; i < n; i++)
            ahead[i] = vocab_hash(t, t->bytes + at[i], at[i + 1] - at[i]);
        for (int32_t i = 0; i < n; i++) {
            if (at[i + 1] > at[i] && t->type[first + i] != TOKEN_BYTE)
                insert(t, first + i, ahead[i]);
        }
    }
}

/* ---- reading -------------------------------------------------------------------------------------------- */

static bool read_types(struct tokenizer *t, const struct gguf *g, char *err, size_t cap)
{
    static const char key[] = "tokenizer.ggml.token_type";
    const struct gguf_value *v = gguf_find(g, key);
    t->type = mem_alloc((size_t)t->n_vocab);
    memset(t->type, TOKEN_NORMAL, (size_t)t->n_vocab);
    if (!v)
        return true;
    bool integers = v->type != GGUF_STRING && v->type != GGUF_F32 && v->type != GGUF_F64 && v->type != GGUF_BOOL;
    if (!v->is_array || !integers)
        return gguf_fail(g, err, cap, "key %s is not an array of integers", key);
    if (v->n != (uint64_t)t->n_vocab)
        return gguf_fail(g, err, cap, "key %s has %" PRIu64 " elements for %d tokens", key, v->n, t->n_vocab);
    for (uint64_t i = 0; i < v->n; i++) {
        int64_t type = gguf_int_at(v, i);
        if (type < 0 || type > TOKEN_BYTE)
            return gguf_fail(g, err, cap, "key %s[%" PRIu64 "] is %" PRId64 ", no token type", key, i, type);
        if (type)
            t->type[i] = (uint8_t)type;
    }
    return true;
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* SentencePiece writes a space as U+2581 and a byte as <0x0A>. */
static size_t spm_bytes(struct gguf_string s, enum token_type type, char *out)
{
    if (type == TOKEN_BYTE && s.n == 6 && memcmp(s.s, "<0x", 3) == 0 && s.s[5] == '>' && hex_digit(s.s[3]) >= 0 &&
        hex_digit(s.s[4]) >= 0) {
        out[0] = (char)(hex_digit(s.s[3]) << 4 | hex_digit(s.s[4]));
        return 1;
    }
    size_t at = 0;
    for (size_t i = 0; i < s.n;) {
        if (s.n - i >= 3 && memcmp(s.s + i, "\xE2\x96\x81", 3) == 0) {
            out[at++] = ' ';
            i += 3;
        } else {
            out[at++] = s.s[i++];
        }
    }
    return at;
}

static size_t token_bytes(const struct tokenizer *t, struct gguf_string s, enum token_type type, char *out)
{
    size_t n = 0;
    if (type == TOKEN_NORMAL || type == TOKEN_BYTE || type == TOKEN_UNUSED)
        n = t->spm ? spm_bytes(s, type, out) : vocab_unmap(t, s.s, s.n, out);
    if (n == 0) { /* special tokens, and what the alphabet does not hold, are written as they are */
        memcpy(out, s.s, s.n);
        n = s.n;
    }
    return n;
}

/* Files differ in what they call the marks around a thought. They are part of what is written: the reader tells the
 * thought from the answer by them (engine_thought). */
static bool marks_thought(struct gguf_string s)
{
    return (s.n == 7 && memcmp(s.s, "<think>", 7) == 0) || (s.n == 8 && memcmp(s.s, "</think>", 8) == 0);
}

static void note_byte(struct tokenizer *t, int32_t id)
{
    unsigned char byte = (unsigned char)t->bytes[t->offset[id]];
    bool is_byte = t->spm ? t->type[id] == TOKEN_BYTE : t->type[id] == TOKEN_NORMAL;
    if (is_byte && t->offset[id + 1] - t->offset[id] == 1 && t->byte_id[byte] < 0)
        t->byte_id[byte] = id;
}

static bool read_tokens(struct tokenizer *t, const struct gguf *g, const struct gguf_value *v, char *err, size_t cap)
{
    size_t room = 0, used = 0;
    uint64_t cursor = 0;
    t->offset = mem_alloc(((size_t)t->n_vocab + 1) * sizeof *t->offset);
    t->offset[0] = 0;
    for (int32_t id = 0; id < t->n_vocab; id++) {
        struct gguf_string s = gguf_string_at(v, &cursor);
        if (s.n > 2 * TOKEN_MAX_BYTES)
            return gguf_fail(g, err, cap, "key tokenizer.ggml.tokens[%d] has %zu bytes, more than a token may have",
                             id, s.n);
        if (room - used < s.n)
            t->bytes = mem_resize(t->bytes, room = room * 2 + (size_t)t->n_vocab * 8 + s.n, 1);
        if (t->type[id] == TOKEN_CONTROL && marks_thought(s))
            t->type[id] = TOKEN_USER;
        size_t n = token_bytes(t, s, t->type[id], t->bytes + used);
        if (n > TOKEN_MAX_BYTES)
            return gguf_fail(g, err, cap, "key tokenizer.ggml.tokens[%d] has %zu bytes, more than the %d allowed", id,
                             n, TOKEN_MAX_BYTES);
        used += n;
        if (used > UINT32_MAX)
            return gguf_fail(g, err, cap, "key tokenizer.ggml.tokens has more than 4 GB");
        t->offset[id + 1] = (uint32_t)used;
        if (n > t->longest)
            t->longest = n;
        if (n == 1)
            note_byte(t, id);
    }
    return true;
}

/* ---- public --------------------------------------------------------------------------------------------- */

bool vocab_open(struct tokenizer *t, const struct gguf *g, char *err, size_t cap)
{
    static const char key[] = "tokenizer.ggml.tokens";
    const struct gguf_value *v = gguf_find(g, key);
    if (!v)
        return gguf_fail(g, err, cap, "it has no vocabulary (key %s is missing)", key);
    if (!v->is_array || v->type != GGUF_STRING)
        return gguf_fail(g, err, cap, "key %s is not an array of strings", key);
    if (v->n == 0)
        return gguf_fail(g, err, cap, "key %s is empty: a vocabulary without tokens", key);
    if (v->n > INT32_MAX / 2)
        return gguf_fail(g, err, cap, "key %s has %" PRIu64 " elements, too many", key, v->n);
    t->n_vocab = (int)v->n;
    memset(t->byte_id, 0xFF, sizeof t->byte_id);
    build_alphabet(t);
    if (!read_types(t, g, err, cap) || !read_tokens(t, g, v, err, cap))
        return false;
    build_hash(t);
    return true;
}

void vocab_close(struct tokenizer *t)
{
    free(t->type);
    free(t->bytes);
    free(t->offset);
    free(t->slots);
}
