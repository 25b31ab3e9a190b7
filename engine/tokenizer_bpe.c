/* tokenizer_bpe.c - byte-level BPE: a word is its bytes, joined by the merges of the file in the order of their
 * ranks. */
#include "../src/base/mem.h"
#include "tokenizer_impl.h"
#include "utf8.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SHORT_WORD 48 /* up to this many bytes a scan for the best pair is faster than a heap */
#define NO_RANK UINT32_MAX

/* ---- merges --------------------------------------------------------------------------------------------- */

static inline uint32_t slot_of(const struct tokenizer *t, int32_t left, int32_t right)
{
    uint64_t key = (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
    return (uint32_t)vocab_fold(key ^ t->seed, 0xA0761D6478BD642F) & t->merge_mask;
}

static inline const struct merge *find_merge(const struct tokenizer *t, int32_t left, int32_t right)
{
    for (uint32_t i = slot_of(t, left, right); t->merges[i].left >= 0; i = (i + 1) & t->merge_mask) {
        if (t->merges[i].left == left && t->merges[i].right == right)
            return &t->merges[i];
    }
    return NULL;
}

static void add_merge(struct tokenizer *t, uint32_t i, struct merge merge)
{
    for (; t->merges[i].left >= 0; i = (i + 1) & t->merge_mask) {
        if (t->merges[i].left == merge.left && t->merges[i].right == merge.right)
            return; /* written twice: the better rank counts */
    }
    t->merges[i] = merge;
}

/* "left right" in the byte-level alphabet, as two runs of bytes one after the other. */
static bool split_merge(const struct tokenizer *t, struct gguf_string s, char *bytes, size_t *left, size_t *right)
{
    if (s.n < 3 || s.n > 4 * TOKEN_MAX_BYTES)
        return false;
    const char *space = memchr(s.s + 1, ' ', s.n - 1);
    if (!space)
        return false;
    size_t n = (size_t)(space - s.s);
    *left = vocab_unmap(t, s.s, n, bytes);
    *right = vocab_unmap(t, space + 1, s.n - n - 1, bytes + *left);
    return *left && *right;
}

/* One entry of the list on its way into the table. */
struct reading {
    struct gguf_string text;
    const char *bytes; /* both halves, one after the other */
    size_t n_left, n_right;
    uint64_t hash_left, hash_right;
    struct merge merge;
    uint32_t slot;
};

static bool bad_merge(const struct gguf *g, const struct reading *r, uint64_t rank, const char *why, char *err,
                      size_t cap)
{
    char shown[GGUF_SHOWN];
    return gguf_fail(g, err, cap, "key tokenizer.ggml.merges[%" PRIu64 "] (%s) %s", rank, gguf_show(r->text, shown),
                     why);
}

/* Vocabularies list the results in the order of the merges, so `guess`, the result before, says where to look
 * first. */
static bool resolve(struct tokenizer *t, struct reading *r, int32_t *guess)
{
    size_t n = r->n_left + r->n_right;
    r->merge.left = vocab_find_hashed(t, r->hash_left, r->bytes, r->n_left, TYPES_ANY);
    r->merge.right = vocab_find_hashed(t, r->hash_right, r->bytes + r->n_left, r->n_right, TYPES_ANY);
    if (++*guess >= t->n_vocab || !vocab_is(t, *guess, r->bytes, n, TYPES_TEXT))
        *guess = vocab_find(t, r->bytes, n, TYPES_ANY);
    r->merge.id = *guess;
    if (r->merge.left < 0 || r->merge.right < 0 || r->merge.id < 0)
        return false;
    r->slot = slot_of(t, r->merge.left, r->merge.right);
    __builtin_prefetch(&t->merges[r->slot], 1);
    return true;
}

/* In steps over a few merges each, so that the waits for memory overlap: most of a vocabulary's loading is this. */
static bool read_some(struct tokenizer *t, const struct gguf *g, const struct gguf_value *v, uint64_t *cursor,
                      uint64_t first, int32_t *guess, char *err, size_t cap)
{
    struct reading list[VOCAB_AHEAD];
    char bytes[VOCAB_AHEAD][4 * TOKEN_MAX_BYTES];
    uint64_t n = v->n - first < VOCAB_AHEAD ? v->n - first : VOCAB_AHEAD;
    for (uint64_t i = 0; i < n; i++) {
        struct reading *r = &list[i];
        *r = (struct reading){
            .text = gguf_string_at(v, cursor), .bytes = bytes[i], .merge.rank = (uint32_t)(first + i)};
        if (!split_merge(t, r->text, bytes[i], &r->n_left, &r->n_right))
            return bad_merge(g, r, first + i, "is not a pair of tokens", err, cap);
        r->hash_left = vocab_hash(t, bytes[i], r->n_left);
        r->hash_right = vocab_hash(t, bytes[i] + r->n_left, r->n_right);
    }
    for (uint64_t i = 0; i < n; i++) {
        if (!resolve(t, &list[i], guess))
            return bad_merge(g, &list[i], first + i, "names no token of the vocabulary", err, cap);
    }
    for (uint64_t i = 0; i < n; i++) {
        /* What text may not become is no merge. */
        if (TYPE_BIT(t->type[list[i].merge.id]) & TYPES_TEXT)
            add_merge(t, list[i].slot, list[i].merge);
    }
    return true;
}

static bool read_merges(struct tokenizer *t, const struct gguf *g, const struct gguf_value *v, char *err, size_t cap)
{
    uint64_t cursor = 0;
    int32_t guess = 0;
    for (uint64_t first = 0; first < v->n; first += VOCAB_AHEAD) {
        if (!read_some(t, g, v, &cursor, first, &guess, err, cap))
            return false;
    }
    return true;
}

bool bpe_open(struct tokenizer *t, const struct gguf *g, char *err, size_t cap)
{
    static const char key[] = "tokenizer.ggml.merges";
    const struct gguf_value *v = gguf_find(g, key);
    if (!v)
        return gguf_fail(g, err, cap, "key %s is missing", key);
    if (!v->is_array || v->type != GGUF_STRING)
        return gguf_fail(g, err, cap, "key %s is not an array of strings", key);
    if (v->n > INT32_MAX / 2)
        return gguf_fail(g, err, cap, "key %s has %" PRIu64 " elements, too many", key, v->n);
    uint32_t size = vocab_table_size(v->n);
    t->merge_mask = size - 1;
    t->merges = mem_alloc(size * sizeof *t->merges);
    memset(t->merges, 0xFF, size * sizeof *t->merges);
    return read_merges(t, g, v, err, cap);
}

/* ---- words ---------------------------------------------------------------------------------------------- */

static inline uint32_t rank_of(const struct tokenizer *t, int32_t left, int32_t right, int32_t *id)
{
    const struct merge *merge = find_merge(t, left, right);
    *id = merge ? merge->id : -1;
    return merge ? merge->rank : NO_RANK;
}

/* ids[0..n) are joined in place; returns how many are left. */
static size_t merge_short(const struct tokenizer *t, int32_t *ids, size_t n)
{
    uint32_t rank[SHORT_WORD];
    int32_t joined[SHORT_WORD]; /* of ids[i] and ids[i + 1] */
    for (size_t i = 0; i + 1 < n; i++)
        rank[i] = rank_of(t, ids[i], ids[i + 1], &joined[i]);
    while (n > 1) {
        size_t best = 0;
        for (size_t i = 1; i + 1 < n; i++) {
            if (rank[i] < rank[best])
                best = i;
        }
        if (rank[best] == NO_RANK)
            break;
        ids[best] = joined[best];
        n--;
        memmove(ids + best + 1, ids + best + 2, (n - best - 1) * sizeof *ids);
        if (best + 1 < n) {
            memmove(rank + best + 1, rank + best + 2, (n - best - 2) * sizeof *rank);
            memmove(joined + best + 1, joined + best + 2, (n - best - 2) * sizeof *joined);
            rank[best] = rank_of(t, ids[best], ids[best + 1], &joined[best]);
        }
        if (best > 0)
            rank[best - 1] = rank_of(t, ids[best - 1], ids[best], &joined[best - 1]);
    }
    return n;
}

static bool can_merge(const struct tokenizer *t, const char *word, const struct piece *a, const struct piece *b,
                      uint32_t *rank, int32_t *id)
{
    (void)word;
    *rank = rank_of(t, a->id, b->id, id);
    return *rank != NO_RANK;
}

static void merge_long(const struct tokenizer *t, const char *word, size_t n, struct engine_tokens *out)
{
    struct piece *pieces = mem_alloc(n * sizeof *pieces);
    uint32_t k = 0;
    for (size_t i = 0; i < n; i++) {
        int32_t id = t->byte_id[(unsigned char)word[i]];
        if (id >= 0) {
            pieces[k] = (struct piece){.start = k, .end = k + 1, .id = id};
            k++;
        }
    }
    merge_pieces(t, word, pieces, k, can_merge);
    for (int32_t i = k ? 0 : -1; i >= 0; i = pieces[i].next)
        engine_tokens_push(out, pieces[i].id);
    free(pieces);
}

/* Bytes without a token are dropped, as the original does, and what stood around them can join. */
static void encode_word(const struct tokenizer *t, const char *word, size_t n, struct engine_tokens *out)
{
    if (t->kind->whole_words) {
        int32_t id = vocab_find(t, word, n, TYPES_TEXT);
        if (id >= 0) {
            engine_tokens_push(out, id);
            return;
        }
    }
    if (n > SHORT_WORD) {
        merge_long(t, word, n, out);
        return;
    }
    int32_t ids[SHORT_WORD];
    size_t k = 0;
    for (size_t i = 0; i < n; i++) {
        ids[k] = t->byte_id[(unsigned char)word[i]];
        k += ids[k] >= 0;
    }
    engine_tokens_append(out, ids, merge_short(t, ids, k));
}

void bpe_encode(const struct tokenizer *t, const char *text, size_t n, struct engine_tokens *out)
{
    for (size_t at = 0, len; at < n; at += len) {
        len = t->kind->word((const unsigned char *)text + at, n - at);
        encode_word(t, text + at, len, out);
    }
}
