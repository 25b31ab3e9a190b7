/*
 * forward.c - see forward.h.
 *
 * One pool_run per pass; inside it every member walks through the same phases. A phase either splits the rows of
 * matrices or the tokens between the members. With one token (decode) all members repeat what is cheaper done twice
 * than waited for: norms, quantization, merging short attention. With more (prefill) tokens are split for those, and
 * rows are handed out in blocks as members become free.
 *
 * Once *cancel has been seen, members do no more work but still meet at every barrier, so that none waits for ever.
 */
#include "forward.h"

#include "../src/base/mem.h"
#include "cpu.h"
#include "forward_impl.h"
#include "memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FEW_TOKENS 4 /* up to here the weights' bytes bound a product: rows are split evenly, in one piece */
#define BLOCK_MACS (128 << 20) /* multiplications between two looks at the cancel flag: a few milliseconds, */
#define SLOW_MACS (8 << 20)    /* also where matrices are not packed: floats, plain C */
#define FETCH_BYTES (64 << 10) /* of the next weights, while waiting: fits the second-level cache of any CPU */
#define PHASES_PER_LAYER 8     /* at most, with a counter each */

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

/* The member's share of several matrices laid end to end, each row group weighing its bytes: rows of product k. */
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
static int block_rows(const struct walk *t, const struct activations *a, const struct matrix *w)
{
    int align = t->m->matmul->row_align;
    int64_t most = (w->packed ? BLOCK_MACS : SLOW_MACS) / ((int64_t)w->cols * a->n);
    int64_t fair = (w->rows + t->members - 1) / t->members;
    int64_t n = most < fair ? most : fair;
    n = (n + align - 1) / align * align;
    return n < align ? align : (int)n;
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
        size[k] = block_rows(t, a, products[k].w);
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

/* The head, of which only the largest products are wanted. */
static void multiply_top(struct walk *t, const struct activations *a, const struct step *head)
{
    const struct product *p = &head->products[0];
    int row0, row1;
    if (stopped(t))
        return;
    if (t->member == 0)
        memcpy(t->f->final, a->f, (size_t)a->cols * sizeof *a->f);
    share_rows(t, p, 1, 0, &row0, &row1);
    if (row0 < row1)
        t->m->matmul->multiply_top(p->w, a, row0, row1, p->y, t->f->top, t->own->scratch);
}

void forward_wait_before(struct walk *t, const struct step *next)
{
    for (int k = 0; k < next->n && t->n == 1; k++) {
        const struct matrix *w = next->products[k].w;
        int row0, row1;
        share_rows(t, next->products, next->n, k, &row0, &row1);
        if (row0 == row1)
            continue;
        size_t group;
        const unsigned char *first = matmul_first_bytes(t->m->matmul, w, row0, &group);
        size_t bytes = group * (size_t)((row1 - row0) / t->m->matmul->row_align);
        pool_barrier_fetch(t->f->pool, first, bytes < FETCH_BYTES ? bytes : FETCH_BYTES);
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
    int size = block_rows(t, a, w), pieces = (w->rows + size - 1) / size;
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

/* Makes the activations that these products multiply: src (rows of cols floats, from the walk's first token on), or
 * where src is NULL the residual stream normalized by `norm`. Ends with a barrier unless there is one token. */
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
    /* The members' views of the shared buffers are equal; each has its own, because writing one together would be a
     * race. */
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
        forward_wait_before(t, next);
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

/* ---- the pass -------------------------------------------------------------------------------------------- */

static void begin_tokens(struct walk *t)
{
    struct forward *f = t->f;
    const struct engine_model *m = t->m;
    int j0, j1;
    share_tokens(t, &j0, &j1);
    for (int j = j0; j < j1; j++) {
        model_embedding(m, f->ids[j], f->x + (size_t)j * (size_t)m->info.n_embd, t->own->scratch);
        for (int i = 0; i < m->rope_pairs; i++) {
            double angle = (double)(f->position + j) * m->rope_frequencies[i];
            f->cosines[(size_t)j * (size_t)m->rope_pairs + (size_t)i] = (float)cos(angle);
            f->sines[(size_t)j * (size_t)m->rope_pairs + (size_t)i] = (float)sin(angle);
        }
    }
    if (t->n == 1) {
        struct step next = qkv_of(f, 0);
        forward_wait_before(t, &next); /* every member reads the one token */
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
        forward_wait_before_keys(t, layer);
    } else {
        pool_barrier(f->pool);
        int j0, j1;
        share_tokens(t, &j0, &j1);
        forward_store(t, layer, j0, j1);
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
    const float *attended = forward_attend(t, layer, &output);
    add_product(t, prepare(t, attended, l->output.cols, NULL, &output), &output, l->output_bias, &next);
    return true;
}

static void feed_forward(struct walk *t, int layer)
{
    struct forward *f = t->f;
    const struct layer *l = &t->m->layers[layer];
    const struct step gated = gated_of(f, layer), down = output_of(t, &l->down), next = after(f, layer);
    multiply_gated(t, prepare(t, NULL, l->gate.cols, l->ffn_norm, &gated), &gated);
    forward_wait_before(t, &down);
    add_product(t, prepare(t, f->gate, l->down.cols, NULL, &down), &down, NULL, &next);
}

static struct walk begin_walk(struct forward *f, int member, int members)
{
    return (struct walk){
        .f = f,
        .m = f->model,
        .vector = f->model->vector,
        .own = &f->own[member],
        .member = member,
        .members = members,
        .n = f->n,
        .n_run = f->n,
    };
}

/* After the head's products, which any member may have computed. */
static void add_head_bias(struct walk *t)
{
    struct forward *f = t->f;
    int rows = f->model->head.rows;
    int64_t first = (int64_t)rows * t->member / t->members, end = (int64_t)rows * (t->member + 1) / t->members;
    pool_barrier(f->pool);
    for (int j = 0; j < f->n_logits && !stopped(t); j++)
        t->vector->add(f->logits + (size_t)j * (size_t)rows + first, f->model->head_bias + first, (int)(end - first));
}

static void walk_network(void *ctx, int member, int members)
{
    struct forward *f = ctx;
    struct walk t = begin_walk(f, member, members);
    begin_tokens(&t);
    for (int layer = 0; layer < f->model->info.n_layers; layer++) {
        if (!attention(&t, layer))
            return;
        feed_forward(&t, layer);
    }
    if (f->n_logits == 0)
        return;
    const struct step head = head_of(f);
    const struct activations *a = prepare(&t, NULL, f->model->info.n_embd, f->model->output_norm, &head);
    if (f->top)
        multiply_top(&t, a, &head);
    else
        multiply_all(&t, a, &head);
    if (f->model->head_bias)
        add_head_bias(&t);
}

/* The head alone, of f->final. */
static void walk_head(void *ctx, int member, int members)
{
    struct forward *f = ctx;
    struct walk t = begin_walk(f, member, members);
    const struct step head = head_of(f);
    multiply_all(&t, prepare(&t, f->final, f->model->info.n_embd, NULL, &head), &head);
}

static bool run(struct forward *f, void (*work)(void *ctx, int member, int members), const atomic_bool *cancel)
{
    f->cancel = cancel;
    atomic_store(&f->cancelled, false);
    for (int i = 0; i < f->n_counters; i++)
        atomic_store_explicit(&f->counters[i], 0, memory_order_relaxed);
    pool_run(f->pool, work, f);
    return !atomic_load(&f->cancelled);
}

bool forward_run(struct forward *f, const int32_t *ids, int n, int position, float *logits, int n_logits,
                 struct matmul_top *top, const atomic_bool *cancel)
{
    f->ids = ids;
    f->n = n;
    f->position = position;
    f->logits = logits;
    f->n_logits = n_logits;
    f->top = top;
    return run(f, walk_network, cancel);
}

bool forward_complete(struct forward *f, float *logits, const atomic_bool *cancel)
{
    f->n = 1;
    f->logits = logits;
    f->n_logits = 1;
    f->top = NULL;
    return run(f, walk_head, cancel);
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
    f->final = carve(c, (size_t)s->n_embd, f32);
    f->cosines = carve(c, chunk * (size_t)f->model->rope_pairs, f32);
    f->sines = carve(c, chunk * (size_t)f->model->rope_pairs, f32);
    f->partial = carve(c, tiles * (size_t)s->n_heads * VECTOR_STATE(hd), f32);
}

static void carve_own(const struct forward *f, struct own *own, struct carver *c)
{
    const struct engine_model_info *s = &f->model->info;
    size_t hd = (size_t)s->head_dim, tile = (size_t)VECTOR_TILE * hd, f32 = sizeof(float);
    size_t queries = (size_t)forward_block_tokens(f->model) * (size_t)(s->n_heads / s->n_kv_heads);
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
    struct own *own = mem_new((size_t)n, sizeof *own);
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
    f->counters = mem_new((size_t)f->n_counters, sizeof *f->counters);
    return activations_alloc(&f->many, f->chunk, f->max_cols);
}

static int max_of(int a, int b)
{
    return a > b ? a : b;
}

static int max_cols(const struct engine_model *model)
{
    const struct engine_model_info *s = &model->info;
    return max_of(max_of(s->n_embd, s->n_ff), s->n_heads * s->head_dim);
}

size_t forward_bytes(const struct engine_model *model, const struct kv_shape *shape, int threads)
{
    struct forward f = {.model = model, .chunk = shape->chunk, .kv.slots = kv_slots(shape)};
    struct own own;
    struct carver shared = {0}, each = {0};
    carve_shared(&f, &shared);
    carve_own(&f, &own, &each);
    size_t n = (size_t)(threads > 0 ? threads : cpu_cores());
    return shared.used + activations_bytes(f.chunk, max_cols(model)) +
           n * (each.used + activations_bytes(1, max_cols(model)));
}

struct forward *forward_open(const struct engine_model *model, const struct kv_shape *shape, int threads, char *err,
                             size_t cap)
{
    struct forward *f = mem_new(1, sizeof *f);
    f->model = model;
    f->chunk = shape->chunk;
    f->max_cols = max_cols(model);
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
    struct own *own = open_own(f, pool_threads(pool));
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
