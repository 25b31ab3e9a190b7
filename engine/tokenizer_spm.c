/* tokenizer_spm.c - SentencePiece BPE: characters are joined to tokens, that of the best score first. */
#include "../src/base/mem.h"
#include "tokenizer_impl.h"
#include "utf8.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct scored {
    double score;
    int32_t id;
};

static int compare_scores(const void *a, const void *b)
{
    const struct scored *x = a, *y = b;
    return x->score > y->score ? -1 : x->score < y->score;
}

/* Scores become ranks, so that both tokenizers share one core. Equal scores have equal ranks: the leftmost pair
 * wins. */
bool spm_open(struct tokenizer *t, const struct gguf *g, char *err, size_t cap)
{
    static const char key[] = "tokenizer.ggml.scores";
    const struct gguf_value *v = gguf_find(g, key);
    if (!v)
        return gguf_fail(g, err, cap, "key %s is missing", key);
    if (!v->is_array || (v->type != GGUF_F32 && v->type != GGUF_F64))
        return gguf_fail(g, err, cap, "key %s is not an array of floating-point numbers", key);
    if (v->n != (uint64_t)t->n_vocab)
        return gguf_fail(g, err, cap, "key %s has %" PRIu64 " elements for %d tokens", key, v->n, t->n_vocab);
    struct scored *order = mem_alloc((size_t)v->n * sizeof *order);
    bool ok = true;
    for (int32_t id = 0; id < t->n_vocab && ok; id++) {
        order[id] = (struct scored){gguf_float_at(v, (uint64_t)id), id};
        if (isnan(order[id].score))
            ok = gguf_fail(g, err, cap, "key %s[%d] is not a number", key, id);
    }
    if (ok) {
        qsort(order, (size_t)v->n, sizeof *order, compare_scores);
        t->rank = mem_alloc((size_t)v->n * sizeof *t->rank);
        for (size_t i = 0, rank = 0; i < v->n; i++) {
            rank = i && order[i].score < order[i - 1].score ? i : rank;
            t->rank[order[i].id] = (uint32_t)rank;
        }
    }
    free(order);
    return ok;
}

static bool can_merge(const struct tokenizer *t, const char *word, const struct piece *a, const struct piece *b,
                      uint32_t *rank, int32_t *id)
{
    *id = vocab_find(t, word + a->start, b->end - a->start, TYPES_TEXT);
    *rank = *id >= 0 ? t->rank[*id] : 0;
    return *id >= 0;
}

/* Spaces and literal U+2581 are the same to SentencePiece; here both are spaces, as in the tokens' bytes. */
static size_t normalize(const char *text, size_t n, bool space_prefix, char *out)
{
    size_t at = 0;
    if (space_prefix)
        out[at++] = ' ';
    for (size_t i = 0; i < n;) {
        if (n - i >= 3 && memcmp(text + i, "\xE2\x96\x81", 3) == 0) {
            out[at++] = ' ';
            i += 3;
        } else {
            out[at++] = text[i++];
        }
    }
    return at;
}

/* A character that is no token falls back to its bytes; those without a token are dropped. */
static void push_piece(const struct tokenizer *t, const char *text, const struct piece *p, struct engine_tokens *out)
{
    if (p->id >= 0) {
        engine_tokens_push(out, p->id);
        return;
    }
    for (uint32_t i = p->start; i < p->end; i++) {
        int32_t id = t->byte_id[(unsigned char)text[i]];
        if (id >= 0)
            engine_tokens_push(out, id);
    }
}

void spm_encode(const struct tokenizer *t, const char *text, size_t n, bool space_prefix, struct engine_tokens *out)
{
    if (n == 0)
        return;
    char *word = mem_alloc(n + 1);
    size_t bytes = normalize(text, n, space_prefix, word);
    struct piece *pieces = mem_alloc(bytes * sizeof *pieces);
    size_t k = 0;
    for (size_t at = 0, len; at < bytes; at += len, k++) {
        utf8_next((const unsigned char *)word + at, bytes - at, &len);
        pieces[k] = (struct piece){.start = (uint32_t)at, .end = (uint32_t)(at + len)};
        pieces[k].id = vocab_find(t, word + at, len, TYPES_TEXT);
    }
    merge_pieces(t, word, pieces, k, can_merge);
    for (int32_t i = 0; i >= 0; i = pieces[i].next)
        push_piece(t, word, &pieces[i], out);
    free(pieces);
    free(word);
}
