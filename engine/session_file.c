/*
 * session_file.c - a session's context and KV cache on disk.
 *
 * struct head, then the token ids (int32), then the cache as it lies in memory (kv.h), up to the last tile that holds
 * something, then the checksum of all before it (uint64). Numbers are those of this machine: a file is refused where
 * they read differently. Nothing is allocated from what a file says: its head must be the very one this session would
 * write for that many tokens.
 */
#include "session.h"

#include "../src/base/mem.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC "chinwagK"
#define VERSION 2
#define PIECE ((size_t)64 << 10) /* read and hashed at once */

struct head {
    char magic[8];
    uint32_t version, byte_order; /* VERSION, 0x01020304 */
    uint64_t fingerprint;         /* of the model's file */
    uint32_t kv_type, window, slots, n_layers, n_heads, head_dim;
    uint64_t tile_bytes;
    uint32_t n_tokens, n_evaluated, high, unused;
};

struct stream { /* one file, read or written in order */
    FILE *f;
    uint64_t hash;
    bool ok;
};

/* n is a multiple of 4, as all parts of the file are, so that the sum does not depend on the pieces it is read in.
 * Multiplying and folding is a bijection of the hash: any one wrong word gives another sum. */
static uint64_t hash_words(uint64_t h, const unsigned char *p, size_t n)
{
    for (size_t i = 0; i < n; i += 4) {
        uint32_t word;
        memcpy(&word, p + i, 4);
        h = (h ^ word) * 0x9e3779b97f4a7c15u;
        h ^= h >> 32;
    }
    return h;
}

static void put(struct stream *s, const void *p, size_t n)
{
    s->hash = hash_words(s->hash, p, n);
    s->ok = s->ok && fwrite(p, 1, n, s->f) == n;
}

static void get(struct stream *s, void *p, size_t n)
{
    s->ok = s->ok && fread(p, 1, n, s->f) == n;
    if (s->ok)
        s->hash = hash_words(s->hash, p, n);
}

/* ---- layout ---------------------------------------------------------------------------------------------- */

static struct head head_of(const engine_session *s, uint32_t n_tokens, uint32_t n_evaluated, uint32_t high)
{
    const struct kv *kv = forward_kv(s->forward);
    struct head h = {
        .magic = MAGIC,
        .version = VERSION,
        .byte_order = 0x01020304,
        .fingerprint = gguf_fingerprint(s->model->file),
        .kv_type = (uint32_t)kv->shape.type,
        .window = (uint32_t)kv->shape.window,
        .slots = kv_rings(kv) ? (uint32_t)kv->slots : 0, /* without a ring the layout does not depend on n_ctx */
        .n_layers = (uint32_t)kv->shape.n_layers,
        .n_heads = (uint32_t)kv->shape.n_heads,
        .head_dim = (uint32_t)kv->shape.head_dim,
        .tile_bytes = kv->tile_bytes,
        .n_tokens = n_tokens,
        .n_evaluated = n_evaluated,
        .high = high,
    };
    return h;
}

/* The bytes of the cache that must be kept, from its first on. */
static size_t used_bytes(const struct kv *kv, const struct head *h)
{
    size_t tiles = ((kv_rings(kv) ? h->high : h->n_evaluated) + VECTOR_TILE - 1) / VECTOR_TILE;
    size_t slots = tiles < (size_t)kv->slots ? tiles : (size_t)kv->slots;
    return kv->bytes / (size_t)kv->slots * slots;
}

static uint64_t file_size(const struct kv *kv, const struct head *h)
{
    return sizeof *h + (uint64_t)h->n_tokens * sizeof(int32_t) + used_bytes(kv, h) + sizeof(uint64_t);
}

/* ---- saving ---------------------------------------------------------------------------------------------- */

static void write_all(const engine_session *s, struct stream *out)
{
    const struct kv *kv = forward_kv(s->forward);
    struct head h = head_of(s, (uint32_t)s->tokens.n, (uint32_t)s->n_evaluated, (uint32_t)s->high);
    put(out, &h, sizeof h);
    put(out, s->tokens.ids, s->tokens.n * sizeof *s->tokens.ids);
    put(out, kv->data, used_bytes(kv, &h));
    uint64_t sum = out->hash;
    put(out, &sum, sizeof sum);
}

bool engine_session_save(const engine_session *s, const char *path, char *err, size_t cap)
{
    size_t n = strlen(path);
    char *temporary = mem_alloc(n + 8);
    memcpy(temporary, path, n);
    memcpy(temporary + n, ".XXXXXX", 8);
    int fd = mkstemp(temporary); /* 0600 */
    struct stream out = {.f = fd < 0 ? NULL : fdopen(fd, "wb"), .ok = true};
    bool ok = out.f != NULL;
    if (ok) {
        write_all(s, &out);
        ok = (fclose(out.f) == 0) & out.ok && rename(temporary, path) == 0;
    }
    if (!ok) {
        snprintf(err, cap, "cannot write %s: %s", path, strerror(errno));
        if (fd >= 0 && !out.f)
            close(fd);
        if (fd >= 0)
            unlink(temporary);
    }
    free(temporary);
    return ok;
}

/* ---- restoring ------------------------------------------------------------------------------------------- */

static bool refuse(const char *path, const char *why, char *err, size_t cap)
{
    snprintf(err, cap, "%s is not used: %s", path, why);
    return false;
}

/* The head must be the one that would be written here. */
static const char *judge_head(const engine_session *s, const struct head *h, uint64_t size)
{
    const struct kv *kv = forward_kv(s->forward);
    struct head want = head_of(s, h->n_tokens, h->n_evaluated, h->high);
    if (memcmp(h->magic, want.magic, sizeof h->magic) != 0 || h->byte_order != want.byte_order)
        return "it is no saved session of this program and machine";
    if (h->version != want.version)
        return "it was saved by another version of this program";
    if (h->fingerprint != want.fingerprint)
        return "it was saved with another model";
    if (memcmp(h, &want, sizeof want) != 0)
        return "it was saved with another KV cache type or attention window";
    if (h->n_tokens > (uint32_t)s->n_ctx)
        return "it holds more tokens than the window";
    if (h->n_evaluated > h->n_tokens || h->n_evaluated > h->high || h->high > (uint32_t)s->n_ctx ||
        (h->n_evaluated > 0 && !kv_holds(kv, (int)h->n_evaluated, (int)h->high)))
        return "its token counts are wrong";
    if (size != file_size(kv, h))
        return "its size is wrong";
    return NULL;
}

static void skip(struct stream *in, uint64_t n)
{
    unsigned char piece[PIECE];
    for (; n > 0 && in->ok; n -= n < PIECE ? n : PIECE)
        get(in, piece, n < PIECE ? (size_t)n : PIECE);
}

static bool sum_matches(struct stream *in)
{
    uint64_t want = in->hash, sum = 0;
    get(in, &sum, sizeof sum);
    return in->ok && sum == want;
}

/* First the whole file is checked, then it is read into place, and checked again: it may be changing under us. */
static const char *read_all(engine_session *s, struct stream *in, uint64_t size)
{
    struct head h;
    const char *const broken = "its content is damaged";
    get(in, &h, sizeof h);
    if (!in->ok)
        return "it is no saved session of this program and machine";
    const char *why = judge_head(s, &h, size);
    if (why)
        return why;
    skip(in, size - sizeof h - sizeof(uint64_t));
    if (!sum_matches(in))
        return broken;
    rewind(in->f);
    *in = (struct stream){.f = in->f, .ok = true};
    struct head again;
    get(in, &again, sizeof again);
    int32_t *ids = mem_new((size_t)h.n_tokens + 1, sizeof *ids);
    get(in, ids, h.n_tokens * sizeof *ids);
    bool ok = in->ok && memcmp(&h, &again, sizeof h) == 0;
    for (size_t i = 0; i < h.n_tokens; i++)
        ok = ok && ids[i] >= 0 && ids[i] < s->model->info.n_vocab;
    if (ok)
        get(in, forward_kv(s->forward)->data, used_bytes(forward_kv(s->forward), &h));
    ok = ok && sum_matches(in);
    if (ok) {
        engine_tokens_append(&s->tokens, ids, h.n_tokens);
        s->n_evaluated = h.n_evaluated;
        s->high = h.high;
    }
    free(ids);
    return ok ? NULL : broken;
}

bool engine_session_restore(engine_session *s, const char *path, char *err, size_t cap)
{
    engine_session_truncate(s, 0);
    struct stream in = {.f = fopen(path, "rbe"), .ok = true};
    if (!in.f) {
        snprintf(err, cap, "cannot read %s: %s", path, strerror(errno));
        return false;
    }
    struct stat st;
    const char *why = fstat(fileno(in.f), &st) != 0 || !S_ISREG(st.st_mode) ? "it is no file" : NULL;
    if (!why)
        why = read_all(s, &in, (uint64_t)st.st_size);
    fclose(in.f);
    return !why || refuse(path, why, err, cap);
}
