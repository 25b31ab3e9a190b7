/*
 * forward.c - see forward.h.
 *
 * One pool_run per pass; inside it every member walks through the same phases. A phase either splits the rows of matrices
 * or the tokens between the members. With one token (decode) all members repeat what is cheaper done twice than waited for:
 * norms, quantization, merging short attention. With more (prefill) tokens are split for those, and rows are handed out in
 * blocks as members become free.
 *
 * Once *cancel has been seen, members do no more work but still meet at every barrier, so that none waits for ever.
 */
#include "forward.h"

#include "cpu.h"
#include "memory.h"
#include "pool.h"
#include "xalloc.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FEW_TOKENS 4 /* up to here the weights' bytes bound a product: rows are split evenly, in one piece */
#define BLOCK_MACS (128 << 20) /* multiplications between two looks at the cancel flag: a few milliseconds */
#define FETCH_BYTES (64 << 10) /* of the next weights, while waiting: fits the second-level cache of any CPU */
#define MERGE_ALONE 6      /* tiles every member merges for itself; beyond, heads are split, for one more barrier */
#define TASK_QUERIES 96    /* queries (tokens x heads of a group) that share a widened tile */
#define PHASES_PER_LAYER 8 /* at most, with a counter each */

struct own {                 /* what one member has for itself */
    struct activations one;  /* a single token */
    struct activations view; /* many tokens: the shared buffers, as this member passes them on */
    float *row;              /* n_embd: a normalized token */
    float *heads;            /* n_heads x head_dim: a token's merged attention */
    float *queries;          /* TASK_QUERIES or more x head_dim */
    float *states;           /* as many VECTOR_STATEs */
    struct vector_span *see; /* of each query */
    unsigned char *begun;    /* of each query */
    float *k_wide, *v_wide;  /* a tile each */
    void *scratch;           /* for multiply */
    unsigned char *block;    /* the memory behind all of these but `one` */
    size_t block_bytes;
};

struct forward {
    const struct engine_model *model;
    struct kv kv;
    int chunk, max_cols;
    struct pool *pool;
    struct own *own; /* of each member */
    int n_own;

    /* chunk rows each, shared */
    float *x;               /* n_embd: the residual stream */
    float *y;               /* n_embd: what a block adds to it */
    float *normed;          /* n_embd: source of `many` */
    float *q, *k, *v;       /* heads x head_dim, before rotation */
    float *attended;        /* n_heads x head_dim */
    float *gate, *up;       /* n_ff */
    float *cosines, *sines; /* rope_pairs */
    float *partial;         /* decode: [kv head][tile][query of the group] VECTOR_STATE */
    unsigned char *block;   /* the memory behind them */
    size_t block_bytes;
    struct activations many; /* chunk tokens */
    atomic_int *counters;    /* of each phase: the next piece of work nobody has taken */
    int n_counters;

    /* of the present run */
    const int32_t *ids;
    int n, position, n_logits; /* tokens, the first one's position, last tokens whose logits are wanted */
    float *logits;
    const atomic_bool *cancel;
    atomic_bool cancelled;
};

/* A member's walk through a pass. */
struct walk {
    struct forward *f;
    const struct engine_model *m;
    const struct vector_kernels *vector;
    struct own *own;
    int member, members;
    int first, n; /* tokens of the run that are still computed; the last layer may need only the last one */
    int n_run;    /* tokens of the whole run */
    int phase;    /* counters used up */
    bool add_y;   /* x lacks y: added where x is read next (n > 1) */
};

struct product { /* y[token * stride + row] = w x activations */
    const struct matrix *w;
    float *y;
    size_t stride;
};

struct step { /* products of the same activations */
    struct product products[3];
    int n;
};

static bool stopped(struct walk *t)
{
    if (atomic_load_explicit(&t->f->cancelled, memory_order_relaxed))
        return true;
    if (!atomic_load_explicit(t->f->cancel, memory_order_relaxed))
        return false;
    atomic_store_explicit(&t->f->cancelled, true, memory_order_relaxed);
    return true;
}

/* ---- products -------------------------------------------------------------------------------------------- */

static void multiply(struct walk *t, const struct activations *a, const struct product *p, int row0, int row1)
{
    if (row0 < row1)
        t->m->matmul->multiply(p->w, a, row0, row1, p->y, p->stride, t->own->scratch);
}

static int row_groups(const struct walk *t, const struct matrix *w)
{
    return (w->rows + t->m->matmul->row_align - 1) / t->m->matmul->row_align;
}

static int group_row(const struct walk *t, const struct matrix *w, int64_t group)
{
    int64_t row = group * t->m->matmul->row_align;
    return row < w->rows ? (int)row : w->rows;
}

/* The member's share of several matrices laid end to end, each row group weighing its bytes. Calls with k = 0, 1, ... */
static void share_rows(const struct walk *t, const struct product *products, int n_products, int k, int *row0,
                       int *row1)
{
    int64_t total = 0, base = 0;
    for (int i = 0; i < n_products; i++) {
        const struct matrix *w = products[i].w;
        int64_t weight = (int64_t)(w->cols / w->format->block) * w->format->bytes;
        if (i == k)
            base = total;
        total += row_groups(t, w) * weight;
    }
    const struct matrix *w = products[k].w;
    int64_t weight = (int64_t)(w->cols / w->format->block) * w->format->bytes, groups = row_groups(t, w);
    int64_t begin = total * t->member / t->members - base, end = total * (t->member + 1) / t->members - base;
    int64_t first = begin <= 0 ? 0 : (begin + weight - 1) / weight, last = end <= 0 ? 0 : (end + weight - 1) / weight;
    *row0 = group_row(t, w, first < groups ? first : groups);
    *row1 = group_row(t, w, last < groups ? last : groups);
}

/* Rows of a block handed out when many tokens are multiplied: small enough to balance and to stop, aligned. */
static int block_rows(const struct walk *t, const struct activations *a, int rows, int cols)
{
    int align = t->m->matmul->row_align;
    int64_t most = BLOCK_MACS / ((int64_t)cols * a->n);
    int64_t fair = (rows + t->members - 1) / t->members;
    int64_t n = most < fair ? most : fair;
    n = (n + align - 1) / align * align;
    return n < align ? align : (int)n;
}

/* Takes the next piece of this phase's work; -1 when none is left. */
static int take(struct walk *t, int phase, int pieces)
{
    if (stopped(t))
        return -1;
    int i = atomic_fetch_add_explicit(&t->f->counters[phase], 1, memory_order_relaxed);
    return i < pieces ? i : -1;
}

/* All rows of all products, by all members. The caller waits at a barrier before reading. */
static void multiply_all(struct walk *t, const struct activations *a, const struct step *step)
{
    const struct product *products = step->products;
    int n_products = step->n;
    int phase = t->phase++;
    if (stopped(t))
        return;
    if (a->n <= FEW_TOKENS) {
        for (int k = 0; k < n_products; k++) {
            int row0, row1;
            share_rows(t, products, n_products, k, &row0, &row1);
            multiply(t, a, &products[k], row0, row1);
        }
        return;
    }
    int pieces = 0, size[3], count[3];
    for (int k = 0; k < n_products; k++) {
        size[k] = block_rows(t, a, products[k].w->rows, products[k].w->cols);
        count[k] = (products[k].w->rows + size[k] - 1) / size[k];
        pieces += count[k];
    }
    for (int i; (i = take(t, phase, pieces)) >= 0;) {
        int k = 0;
        while (i >= count[k])
            i -= count[k++];
        int row0 = i * size[k], row1 = row0 + size[k];
        multiply(t, a, &products[k], row0, row1 < products[k].w->rows ? row1 : products[k].w->rows);
    }
}

/* The barrier before these products: of a single token, who waits fetches the first weights of its share. */
static void wait_before(struct walk *t, const struct step *next)
{
    for (int k = 0; k < next->n && t->n == 1; k++) {
        const struct matrix *w = next->products[k].w;
        int row0, row1, groups = row_groups(t, w);
        share_rows(t, next->products, next->n, k, &row0, &row1);
        if (row0 == row1)
            continue;
        size_t group = (w->packed ? t->m->matmul->packed_bytes(w) : matrix_bytes(w)) / (size_t)groups;
        size_t first = (size_t)(row0 / t->m->matmul->row_align),
               last = first + (size_t)(row1 - row0) / t->m->matmul->row_align;
        size_t bytes = group * (last - first);
        pool_barrier_fetch(t->f->pool, (w->packed ? w->packed : w->data) + group * first,
                           bytes < FETCH_BYTES ? bytes : FETCH_BYTES);
        return;
    }
    pool_barrier(t->f->pool);
}

static void gate_rows(struct walk *t, const struct activations *a, const struct product pair[static 2], int row0,
                      int row1)
{
    multiply(t, a, &pair[0], row0, row1);
    multiply(t, a, &pair[1], row0, row1);
    for (int j = 0; j < a->n && row0 < row1; j++)
        t->vector->silu_multiply(pair[0].y + (size_t)j * pair[0].stride + row0,
                                 pair[1].y + (size_t)j * pair[1].stride + row0, row1 - row0);
}

/* gate = silu(gate x) * (up x): both products of the same rows by the same member. */
static void multiply_gated(struct walk *t, const struct activations *a, const struct step *step)
{
    const struct product *pair = step->products;
    const struct matrix *w = pair[0].w;
    int phase = t->phase++;
    if (stopped(t))
        return;
    if (a->n <= FEW_TOKENS) {
        int row0, row1;
        share_rows(t, pair, 1, 0, &row0, &row1);
        gate_rows(t, a, pair, row0, row1);
        return;
    }
    int size = block_rows(t, a, w->rows, w->cols), pieces = (w->rows + size - 1) / size;
    for (int i; (i = take(t, phase, pieces)) >= 0;)
        gate_rows(t, a, pair, i * size, (i + 1) * size < w->rows ? (i + 1) * size : w->rows);
}

/* ---- activations ----------------------------------------------------------------------------------------- */

static bool any_quantizes(const struct step *step)
{
    for (int i = 0; i < step->n; i++)
        if (matrix_quantizes(step->products[i].w))
            return true;
    return false;
}

static void share_tokens(const struct walk *t, int *j0, int *j1)
{
    *j0 = t->n * t->member / t->members;
    *j1 = t->n * (t->member + 1) / t->members;
}

/* Row `token` of x, complete with y, normalized. May write x. */
static void norm_token(struct walk *t, int token, const float *weight, float *out)
{
    size_t n_embd = (size_t)t->m->info.n_embd, at = (size_t)token * n_embd;
    if (t->add_y)
        t->vector->add(t->f->x + at, t->f->y + at, (int)n_embd);
    t->vector->rms_norm(t->f->x + at, weight, out, (int)n_embd, t->m->norm_epsilon);
}

/* Makes the activations that these products multiply: src (rows of cols floats, from the walk's first token on), or where
 * src is NULL the residual stream normalized by `norm`. Ends with a barrier unless there is one token. */
static const struct activations *prepare(struct walk *t, const float *src, int cols, const float *norm,
                                         const struct step *step)
{
    struct forward *f = t->f;
    bool quantize = any_quantizes(step);
    if (t->n == 1) {
        struct activations *a = &t->own->one;
        a->n = 1;
        a->cols = cols;
        a->f = src ? src : t->own->row;
        if (!src)
            norm_token(t, t->first, norm, t->own->row);
        if (quantize)
            t->m->matmul->quantize(a, 0, 1);
        return a;
    }
    /* The members' views of the shared buffers are equal; each has its own, because writing one together would be a race. */
    struct activations *view = &t->own->view;
    *view = f->many;
    view->n = t->n;
    view->cols = cols;
    view->f = src ? src : f->normed;
    int j0, j1;
    share_tokens(t, &j0, &j1);
    if (j0 < j1 && !stopped(t)) {
        for (int j = j0; !src && j < j1; j++)
            norm_token(t, t->first + j, norm, f->normed + (size_t)j * (size_t)cols);
        if (quantize)
            t->m->matmul->quantize(view, j0, j1);
    }
    t->add_y = t->add_y && src;
    pool_barrier(f->pool);
    return view;
}

/* x += the step's product of a (+ bias); then `next` follows. */
static void add_product(struct walk *t, const struct activations *a, const struct step *step, const float *bias,
                        const struct step *next)
{
    struct forward *f = t->f;
    const struct product *p = &step->products[0];
    size_t n_embd = (size_t)t->m->info.n_embd;
    multiply_all(t, a, step);
    if (t->n == 1) {
        /* Whoever computed a row adds it. */
        float *x = f->x + (size_t)t->first * n_embd;
        int row0, row1;
        share_rows(t, p, 1, 0, &row0, &row1);
        if (row0 < row1) {
            if (bias)
                t->vector->add(p->y + row0, bias + row0, row1 - row0);
            t->vector->add(x + row0, p->y + row0, row1 - row0);
        }
        wait_before(t, next);
        return;
    }
    pool_barrier(f->pool);
    int j0, j1;
    share_tokens(t, &j0, &j1);
    for (int j = j0; bias && j < j1; j++)
        t->vector->add(p->y + (size_t)j * n_embd, bias, (int)n_embd);
    t->add_y = true;
}

/* ---- the steps of a layer ---------------------------------------------------------------------------------- */

static struct step qkv_of(const struct forward *f, int layer)
{
    const struct layer *l = &f->model->layers[layer];
    size_t n_q = (size_t)l->q.rows, n_kv = (size_t)l->k.rows;
    return (struct step){{{&l->q, f->q, n_q}, {&l->k, f->k, n_kv}, {&l->v, f->v, n_kv}}, 3};
}

/* Into y, from the walk's first token on. */
static struct step output_of(const struct walk *t, const struct matrix *w)
{
    size_t n_embd = (size_t)w->rows;
    return (struct step){{{w, t->f->y + (size_t)t->first * n_embd, n_embd}}, 1};
}

static struct step gated_of(const struct forward *f, int layer)
{
    const struct layer *l = &f->model->layers[layer];
    size_t n_ff = (size_t)l->gate.rows;
    return (struct step){{{&l->gate, f->gate, n_ff}, {&l->up, f->up, n_ff}}, 2};
}

static struct step head_of(const struct forward *f)
{
    const struct matrix *w = &f->model->head;
    return (struct step){{{w, f->logits, (size_t)w->rows}}, 1};
}

/* What the layer's last sum is followed by. */
static struct step after(const struct forward *f, int layer)
{
    return layer + 1 < f->model->info.n_layers ? qkv_of(f, layer + 1) : head_of(f);
}

/* ---- attention ------------------------------------------------------------------------------------------- */

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
            .v = kv_v(&f->kv, layer, head, tile),
            .see = whole ? NULL : t->own->see,
            .state = f->partial + (size_t)i * (size_t)group * state,
            .next_k = i + 1 < p->last ? part_k(t, p, layer, i + 1) : NULL,
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

/* The barrier before the attention of one token: who waits fetches the first keys it will look at. */
static void wait_before_keys(const struct walk *t, int layer)
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
        wait_before(t, next);
    else
        pool_barrier(f->pool);
    float *out = alone ? t->own->heads : f->attended;
    int first = alone ? 0 : n_heads * t->member / t->members;
    int last = alone ? n_heads : n_heads * (t->member + 1) / t->members;
    if (!stopped(t))
        for (int head = first; head < last; head++)
            merge_head(t, head, parts.n_tiles, out);
    if (!alone)
        wait_before(t, next);
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

static int block_tokens(const struct engine_model *m)
{
    int n = TASK_QUERIES * m->info.n_kv_heads / m->info.n_heads;
    return n > 0 ? n : 1;
}

static const float *attend_many(struct walk *t, int layer)
{
    struct forward *f = t->f;
    int size = block_tokens(t->m), blocks = (t->n + size - 1) / size, heads = t->m->info.n_kv_heads;
    int phase = t->phase++;
    /* The last tokens see most: they come first, so that the end is short pieces. */
    for (int i; (i = take(t, phase, blocks * heads)) >= 0;) {
        int j0 = (blocks - 1 - i / heads) * size, j1 = j0 + size;
        attend_block(t, layer, i % heads, j0, j1 < t->n ? j1 : t->n);
    }
    pool_barrier(f->pool);
    return f->attended;
}

/* ---- the pass -------------------------------------------------------------------------------------------- */

static void read_embedding(const struct engine_model *m, int32_t id, float *x)
{
    const struct matrix *w = &m->embedding;
    size_t row = (size_t)(w->cols / w->format->block) * (size_t)w->format->bytes;
    w->format->dequantize(w->data + (size_t)id * row, x, (size_t)w->cols);
}

static void begin_tokens(struct walk *t)
{
    struct forward *f = t->f;
    const struct engine_model *m = t->m;
    int j0, j1;
    share_tokens(t, &j0, &j1);
    for (int j = j0; j < j1; j++) {
        read_embedding(m, f->ids[j], f->x + (size_t)j * (size_t)m->info.n_embd);
        for (int i = 0; i < m->rope_pairs; i++) {
            double angle = (double)(f->position + j) * m->rope_frequencies[i];
            f->cosines[(size_t)j * (size_t)m->rope_pairs + (size_t)i] = (float)cos(angle);
            f->sines[(size_t)j * (size_t)m->rope_pairs + (size_t)i] = (float)sin(angle);
        }
    }
    if (t->n == 1) {
        struct step next = qkv_of(f, 0);
        wait_before(t, &next); /* every member reads the one token */
    }
}

/* False when the last layer has nothing left to do: no logits are wanted. */
static bool attention(struct walk *t, int layer)
{
    struct forward *f = t->f;
    const struct engine_model_info *s = &t->m->info;
    const struct layer *l = &t->m->layers[layer];
    const struct step qkv = qkv_of(f, layer);
    multiply_all(t, prepare(t, NULL, s->n_embd, l->attn_norm, &qkv), &qkv);
    if (t->n == 1) {
        wait_before_keys(t, layer);
    } else {
        pool_barrier(f->pool);
        int j0, j1;
        share_tokens(t, &j0, &j1);
        for (int j = j0; j < j1 && !stopped(t); j++)
            for (int head = 0; head < s->n_kv_heads; head++)
                store_head(t, layer, head, j);
        pool_barrier(f->pool);
        /* Beyond the last layer's keys and values only the tokens whose logits are wanted matter. */
        if (layer == s->n_layers - 1 && f->n_logits < t->n) {
            if (f->n_logits == 0)
                return false;
            t->first = t->n - 1;
            t->n = 1;
        }
    }
    const struct step output = output_of(t, &l->output), next = gated_of(f, layer);
    const float *attended = t->n == 1 ? attend_one(t, layer, &output) : attend_many(t, layer);
    add_product(t, prepare(t, attended, l->output.cols, NULL, &output), &output, l->output_bias, &next);
    return true;
}

static void feed_forward(struct walk *t, int layer)
{
    struct forward *f = t->f;
    const struct layer *l = &t->m->layers[layer];
    const struct step gated = gated_of(f, layer), down = output_of(t, &l->down), next = after(f, layer);
    multiply_gated(t, prepare(t, NULL, l->gate.cols, l->ffn_norm, &gated), &gated);
    wait_before(t, &down);
    add_product(t, prepare(t, f->gate, l->down.cols, NULL, &down), &down, NULL, &next);
}

static void walk_network(void *ctx, int member, int members)
{
    struct forward *f = ctx;
    struct walk t = {
        .f = f,
        .m = f->model,
        .vector = f->model->vector,
        .own = &f->own[member],
        .member = member,
        .members = members,
        .n = f->n,
        .n_run = f->n,
    };
    begin_tokens(&t);
    for (int layer = 0; layer < f->model->info.n_layers; layer++) {
        if (!attention(&t, layer))
            return;
        feed_forward(&t, layer);
    }
    if (f->n_logits == 0)
        return;
    const struct step head = head_of(f);
    multiply_all(&t, prepare(&t, NULL, f->model->info.n_embd, f->model->output_norm, &head), &head);
}

bool forward_run(struct forward *f, const int32_t *ids, int n, int position, float *logits, int n_logits,
                 const atomic_bool *cancel)
{
    f->ids = ids;
    f->n = n;
    f->position = position;
    f->logits = logits;
    f->n_logits = n_logits;
    f->cancel = cancel;
    atomic_store(&f->cancelled, false);
    for (int i = 0; i < f->n_counters; i++)
        atomic_store_explicit(&f->counters[i], 0, memory_order_relaxed);
    pool_run(f->pool, walk_network, f);
    return !atomic_load(&f->cancelled);
}

/* ---- memory ---------------------------------------------------------------------------------------------- */

/* Cuts a block of memory into aligned pieces; with base NULL it only counts. */
struct carver {
    unsigned char *base;
    size_t used;
};

static void *carve(struct carver *c, size_t n, size_t size)
{
    void *p = c->base ? c->base + c->used : NULL;
    c->used += (n * size + 63) / 64 * 64;
    return p;
}

static void carve_shared(struct forward *f, struct carver *c)
{
    const struct engine_model_info *s = &f->model->info;
    size_t chunk = (size_t)f->chunk, hd = (size_t)s->head_dim, kv = hd * (size_t)s->n_kv_heads;
    size_t q = hd * (size_t)s->n_heads, tiles = (size_t)f->kv.slots + 1, f32 = sizeof(float);
    f->x = carve(c, chunk * (size_t)s->n_embd, f32);
    f->y = carve(c, chunk * (size_t)s->n_embd, f32);
    f->normed = carve(c, chunk * (size_t)s->n_embd, f32);
    f->q = carve(c, chunk * q, f32);
    f->k = carve(c, chunk * kv, f32);
    f->v = carve(c, chunk * kv, f32);
    f->attended = carve(c, chunk * q, f32);
    f->gate = carve(c, chunk * (size_t)s->n_ff, f32);
    f->up = carve(c, chunk * (size_t)s->n_ff, f32);
    f->cosines = carve(c, chunk * (size_t)f->model->rope_pairs, f32);
    f->sines = carve(c, chunk * (size_t)f->model->rope_pairs, f32);
    f->partial = carve(c, tiles * (size_t)s->n_heads * VECTOR_STATE(hd), f32);
}

static void carve_own(const struct forward *f, struct own *own, struct carver *c)
{
    const struct engine_model_info *s = &f->model->info;
    size_t hd = (size_t)s->head_dim, tile = (size_t)VECTOR_TILE * hd, f32 = sizeof(float);
    size_t queries = (size_t)block_tokens(f->model) * (size_t)(s->n_heads / s->n_kv_heads);
    own->scratch = carve(c, MATMUL_SCRATCH_BYTES, 1);
    own->row = carve(c, (size_t)s->n_embd, f32);
    own->heads = carve(c, hd * (size_t)s->n_heads, f32);
    own->queries = carve(c, queries * hd, f32);
    own->states = carve(c, queries * VECTOR_STATE(hd), f32);
    own->see = carve(c, queries, sizeof *own->see);
    own->begun = carve(c, queries, 1);
    own->k_wide = carve(c, tile, f32);
    own->v_wide = carve(c, tile, f32);
}

static void close_own(struct own *own, int n)
{
    for (int i = 0; i < n; i++) {
        activations_free(&own[i].one);
        memory_unmap(own[i].block, own[i].block_bytes);
    }
    free(own);
}

static struct own *open_own(const struct forward *f, int n)
{
    struct own *own = xcalloc((size_t)n, sizeof *own);
    for (int i = 0; i < n; i++) {
        struct carver c = {0};
        carve_own(f, &own[i], &c);
        own[i].block_bytes = c.used;
        own[i].block = memory_map(c.used);
        if (!own[i].block || !activations_alloc(&own[i].one, 1, f->max_cols)) {
            close_own(own, i + 1);
            return NULL;
        }
        c = (struct carver){own[i].block, 0};
        carve_own(f, &own[i], &c);
    }
    return own;
}

static bool open_buffers(struct forward *f)
{
    struct carver c = {0};
    carve_shared(f, &c);
    f->block_bytes = c.used;
    f->block = memory_map(c.used);
    if (!f->block)
        return false;
    c = (struct carver){f->block, 0};
    carve_shared(f, &c);
    f->n_counters = f->model->info.n_layers * PHASES_PER_LAYER + 1;
    f->counters = xcalloc((size_t)f->n_counters, sizeof *f->counters);
    return activations_alloc(&f->many, f->chunk, f->max_cols);
}

static int max_of(int a, int b)
{
    return a > b ? a : b;
}

struct forward *forward_open(const struct engine_model *model, const struct kv_shape *shape, int threads, char *err,
                             size_t cap)
{
    const struct engine_model_info *s = &model->info;
    struct forward *f = xcalloc(1, sizeof *f);
    f->model = model;
    f->chunk = shape->chunk;
    f->max_cols = max_of(max_of(s->n_embd, s->n_ff), s->n_heads * s->head_dim);
    if (!kv_open(&f->kv, shape, err, cap)) {
        free(f);
        return NULL;
    }
    if (!open_buffers(f) || !forward_set_threads(f, threads)) {
        snprintf(err, cap, "no memory for evaluating %d tokens at once: %zu bytes", f->chunk, f->block_bytes);
        forward_close(f);
        return NULL;
    }
    return f;
}

void forward_close(struct forward *f)
{
    if (!f)
        return;
    pool_close(f->pool);
    close_own(f->own, f->n_own);
    activations_free(&f->many);
    memory_unmap(f->block, f->block_bytes);
    free(f->counters);
    kv_close(&f->kv);
    free(f);
}

int forward_threads(const struct forward *f)
{
    return pool_threads(f->pool);
}

bool forward_set_threads(struct forward *f, int threads)
{
    if (threads <= 0)
        threads = cpu_cores();
    if (f->pool && pool_threads(f->pool) == threads)
        return true;
    struct pool *pool = pool_open(threads);
    struct own *own = pool ? open_own(f, pool_threads(pool)) : NULL;
    if (!own) {
        pool_close(pool);
        return false;
    }
    pool_close(f->pool);
    close_own(f->own, f->n_own);
    f->pool = pool;
    f->own = own;
    f->n_own = pool_threads(pool);
    return true;
}

struct kv *forward_kv(struct forward *f)
{
    return &f->kv;
}
