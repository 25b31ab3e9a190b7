/*
 * forward_attention.c - the attention of forward.c: queries are turned, keys and values stored, tiles of the cache
 * attended to.
 *
 * One token (decode): (kv head, tile) pairs are split evenly, each giving a state of its own that is merged
 * afterwards. More (prefill): blocks of queries are handed out, and each carries its states through the tiles. The
 * arithmetic is the same.
 */
#include "forward_impl.h"

#include <math.h>
#include <string.h>

#define MERGE_ALONE 6   /* tiles every member merges for itself; beyond, heads are split, for one more barrier */
#define TASK_QUERIES 96 /* queries (tokens x heads of a group) that share a widened tile */

/* A head of q or k as the products left it -> biased, normalized, rotated. out may be x. */
static void turn_head(struct walk *t, const float *x, const float *bias, const float *norm, int token, float *out)
{
    const struct engine_model *m = t->m;
    int hd = m->info.head_dim;
    if (out != x)
        memcpy(out, x, (size_t)hd * sizeof *x);
    if (bias)
        t->vector->add(out, bias, hd);
    if (norm)
        t->vector->rms_norm(out, norm, out, hd, m->norm_epsilon);
    size_t at = (size_t)token * (size_t)m->rope_pairs;
    (m->rope_halves ? t->vector->rotate_halves : t->vector->rotate_neighbours)(out, t->f->cosines + at,
                                                                               t->f->sines + at, m->rope_pairs);
}

/* The key and value of a token go into the cache. */
static void store_head(struct walk *t, int layer, int head, int token)
{
    struct forward *f = t->f;
    const struct layer *l = &t->m->layers[layer];
    int hd = t->m->info.head_dim;
    size_t at = (size_t)token * (size_t)t->m->info.n_kv_heads * (size_t)hd + (size_t)head * (size_t)hd;
    float k[VECTOR_HEAD_MAX], v[VECTOR_HEAD_MAX];
    turn_head(t, f->k + at, l->k_bias ? l->k_bias + head * hd : NULL, l->k_norm, token, k);
    memcpy(v, f->v + at, (size_t)hd * sizeof *v);
    if (l->v_bias)
        t->vector->add(v, l->v_bias + head * hd, hd);
    kv_store(&f->kv, t->vector, layer, head, f->position + token, k, v);
}

/* The queries of a group (all that share a kv head) of one token, scaled. */
static void turn_queries(struct walk *t, int layer, int kv_head, int token, float *out)
{
    const struct layer *l = &t->m->layers[layer];
    int hd = t->m->info.head_dim, group = t->m->info.n_heads / t->m->info.n_kv_heads;
    const float *q = t->f->q + ((size_t)token * (size_t)t->m->info.n_heads + (size_t)(kv_head * group)) * (size_t)hd;
    for (int i = 0; i < group; i++) {
        int head = kv_head * group + i;
        turn_head(t, q + i * hd, l->q_bias ? l->q_bias + head * hd : NULL, l->q_norm, token, out + i * hd);
    }
    t->vector->scale(out, (float)(M_LOG2E / sqrt((double)hd)), group * hd);
}

/* How the attention of one token is split: (kv head, tile) pairs, those of a head together. */
struct parts {
    int n_tiles; /* seen: tile 0, and those from begin on */
    int begin;
    int first, last; /* of this member */
};

static struct parts share_parts(const struct walk *t)
{
    struct parts p;
    int end, position = t->f->position + t->first;
    kv_tiles(&t->f->kv, position, position, &p.begin, &end);
    p.n_tiles = 1 + end - p.begin;
    int total = t->m->info.n_kv_heads * p.n_tiles;
    p.first = total * t->member / t->members;
    p.last = total * (t->member + 1) / t->members;
    return p;
}

static int part_tile(const struct parts *p, int i)
{
    int index = i % p->n_tiles;
    return index == 0 ? 0 : p->begin + index - 1;
}

static const unsigned char *part_k(const struct walk *t, const struct parts *p, int layer, int i)
{
    return kv_k(&t->f->kv, layer, i / p->n_tiles, part_tile(p, i));
}

static const unsigned char *part_v(const struct walk *t, const struct parts *p, int layer, int i)
{
    return kv_v(&t->f->kv, layer, i / p->n_tiles, part_tile(p, i));
}

/* Every tile gives a state of its own; they are merged in ascending order later, as if one had been carried along. */
static void attend_parts(struct walk *t, int layer, const struct parts *p)
{
    struct forward *f = t->f;
    const struct engine_model_info *s = &t->m->info;
    int group = s->n_heads / s->n_kv_heads, position = f->position + t->first, last = position / VECTOR_TILE,
        turned = -1;
    size_t state = VECTOR_STATE(s->head_dim);
    for (int i = p->first; i < p->last; i++) {
        int head = i / p->n_tiles, tile = part_tile(p, i);
        if (head != turned)
            turn_queries(t, layer, head, t->first, t->own->queries);
        turned = head;
        if (tile == last && t->n_run == 1)
            store_head(t, layer, head, t->first);
        struct vector_span see = kv_span(&f->kv, position, tile);
        bool whole = see.to == VECTOR_TILE && see.from <= see.sinks;
        for (int j = 0; j < group && !whole; j++)
            t->own->see[j] = see;
        struct vector_attend a = {
            .head_dim = s->head_dim,
            .n_queries = group,
            .q = t->own->queries,
            .k = part_k(t, p, layer, i),
            .v = part_v(t, p, layer, i),
            .see = whole ? NULL : t->own->see,
            .state = f->partial + (size_t)i * (size_t)group * state,
            .next_k = i + 1 < p->last ? part_k(t, p, layer, i + 1) : NULL,
            .next_v = i + 1 < p->last ? part_v(t, p, layer, i + 1) : NULL,
        };
        if (f->kv.shape.type == ENGINE_KV_F16) {
            t->vector->attend(&a);
            continue;
        }
        kv_widen(&f->kv, t->vector, layer, head, tile, t->own->k_wide, t->own->v_wide);
        a.k = t->own->k_wide;
        a.v = t->own->v_wide;
        t->vector->attend_wide(&a);
    }
}

void forward_wait_before_keys(const struct walk *t, int layer)
{
    struct parts p = share_parts(t);
    const unsigned char *k = p.first < p.last ? part_k(t, &p, layer, p.first) : NULL;
    pool_barrier_fetch(t->f->pool, k, k ? t->f->kv.tile_bytes : 0);
}

static void merge_head(struct walk *t, int head, int n_tiles, float *out)
{
    const struct engine_model_info *s = &t->m->info;
    int group = s->n_heads / s->n_kv_heads;
    size_t size = VECTOR_STATE(s->head_dim);
    const float *part =
        t->f->partial + ((size_t)(head / group * n_tiles) * (size_t)group + (size_t)(head % group)) * size;
    _Alignas(64) float state[VECTOR_HEAD_MAX + VECTOR_GROUP];
    memcpy(state, part, size * sizeof *state);
    for (int i = 1; i < n_tiles; i++)
        t->vector->merge(state, part + (size_t)i * (size_t)group * size, s->head_dim);
    t->vector->finish(state, out + head * s->head_dim, s->head_dim);
}

static const float *attend_one(struct walk *t, int layer, const struct step *next)
{
    struct forward *f = t->f;
    struct parts parts = share_parts(t);
    int n_heads = t->m->info.n_heads;
    if (!stopped(t))
        attend_parts(t, layer, &parts);
    bool alone = parts.n_tiles <= MERGE_ALONE;
    if (alone)
        forward_wait_before(t, next);
    else
        pool_barrier(f->pool);
    float *out = alone ? t->own->heads : f->attended;
    int first = alone ? 0 : n_heads * t->member / t->members;
    int last = alone ? n_heads : n_heads * (t->member + 1) / t->members;
    if (!stopped(t))
        for (int head = first; head < last; head++)
            merge_head(t, head, parts.n_tiles, out);
    if (!alone)
        forward_wait_before(t, next);
    return out;
}

/* What the queries of tokens j0..j1 - 1 see of a tile, in own->see; true instead where each sees all of it. */
static bool spans_of_block(const struct walk *t, int j0, int j1, int tile)
{
    const struct kv *kv = &t->f->kv;
    int group = t->m->info.n_heads / t->m->info.n_kv_heads;
    if (kv->shape.window == 0 && t->f->position + j0 >= (tile + 1) * VECTOR_TILE - 1)
        return true;
    for (int j = j0; j < j1; j++) {
        struct vector_span see = kv_span(kv, t->f->position + j, tile);
        for (int i = 0; i < group; i++)
            t->own->see[(j - j0) * group + i] = see;
    }
    return false;
}

/* A kv head and tokens j0..j1 - 1: each tile is widened once and shared by all queries of the block. */
static void attend_block(struct walk *t, int layer, int head, int j0, int j1)
{
    struct forward *f = t->f;
    const struct engine_model_info *s = &t->m->info;
    int group = s->n_heads / s->n_kv_heads, begin, end, hd = s->head_dim, n = (j1 - j0) * group;
    size_t state = VECTOR_STATE(hd);
    for (int j = j0; j < j1; j++)
        turn_queries(t, layer, head, j, t->own->queries + (size_t)(j - j0) * (size_t)(group * hd));
    memset(t->own->begun, 0, (size_t)n);
    kv_tiles(&f->kv, f->position + j0, f->position + j1 - 1, &begin, &end);
    for (int tile = 0; tile < end && !stopped(t); tile = tile == 0 ? begin : tile + 1) {
        kv_widen(&f->kv, t->vector, layer, head, tile, t->own->k_wide, t->own->v_wide);
        bool whole = spans_of_block(t, j0, j1, tile);
        t->vector->attend_wide(&(struct vector_attend){
            .head_dim = hd,
            .n_queries = n,
            .q = t->own->queries,
            .k = t->own->k_wide,
            .v = t->own->v_wide,
            .see = whole ? NULL : t->own->see,
            .state = t->own->states,
            .begun = t->own->begun,
        });
        for (int i = 0; i < n; i++)
            t->own->begun[i] |= whole || t->own->see[i].to > 0;
    }
    if (stopped(t))
        return;
    for (int i = 0; i < n; i++) {
        size_t at = ((size_t)(j0 + i / group) * (size_t)s->n_heads + (size_t)(head * group + i % group)) * (size_t)hd;
        t->vector->finish(t->own->states + (size_t)i * state, f->attended + at, hd);
    }
}

int forward_block_tokens(const struct engine_model *m)
{
    int n = TASK_QUERIES * m->info.n_kv_heads / m->info.n_heads;
    return n > 0 ? n : 1;
}

static const float *attend_many(struct walk *t, int layer)
{
    struct forward *f = t->f;
    int size = forward_block_tokens(t->m), blocks = (t->n + size - 1) / size, heads = t->m->info.n_kv_heads;
    int phase = t->phase++;
    /* The last tokens see most: they come first, so that the end is short pieces. */
    for (int i; (i = take(t, phase, blocks * heads)) >= 0;) {
        int j0 = (blocks - 1 - i / heads) * size, j1 = j0 + size;
        attend_block(t, layer, i % heads, j0, j1 < t->n ? j1 : t->n);
    }
    pool_barrier(f->pool);
    return f->attended;
}

void forward_store(struct walk *t, int layer, int j0, int j1)
{
    for (int j = j0; j < j1 && !stopped(t); j++)
        for (int head = 0; head < t->m->info.n_kv_heads; head++)
            store_head(t, layer, head, j);
}

const float *forward_attend(struct walk *t, int layer, const struct step *next)
{
    return t->n == 1 ? attend_one(t, layer, next) : attend_many(t, layer);
}
