/*
 * session.c - engine_session: a context of tokens, how much of it the KV cache holds, and the next token.
 */
#include "session.h"

#include "../src/base/clock.h"
#include "../src/base/mem.h"
#include "memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __linux__
#include <sys/random.h>
#else
#include <unistd.h>
#endif

#define CHUNK 256 /* tokens evaluated at once in prefill: weights are unpacked once per chunk, buffers grow */

#define MANY_ROWS 32 /* one in so many: beyond, the whole head takes no longer */

/* ---- opening --------------------------------------------------------------------------------------------- */

static struct kv_shape shape_of(const engine_model *model, const struct engine_session_options *o)
{
    struct kv_shape s = {
        .n_layers = model->info.n_layers,
        .n_heads = model->info.n_kv_heads,
        .head_dim = model->info.head_dim,
        .n_ctx = o->n_ctx > 0 ? o->n_ctx : engine_default_context(model),
        .window = o->attn_window > 0 ? o->attn_window : 0,
        .chunk = o->chunk > 0 ? o->chunk : CHUNK,
        .type = o->kv_type,
    };
    if (s.chunk > s.n_ctx)
        s.chunk = s.n_ctx;
    return s;
}

static size_t rows_bytes(const engine_model *model)
{
    return (1 + LOOKUP_MAX) * (size_t)model->info.n_vocab * sizeof(float);
}

struct engine_session_bytes engine_session_bytes(const engine_model *model,
                                                 const struct engine_session_options *options)
{
    if (!model->layers)
        return (struct engine_session_bytes){0};
    struct kv_shape s = shape_of(model, options);
    return (struct engine_session_bytes){
        .kv = kv_bytes(&s),
        .compute =
            rows_bytes(model) + forward_bytes(model, &s, options->threads) + sampler_bytes(model->info.n_vocab),
    };
}

engine_session *engine_session_open(const engine_model *model, const struct engine_session_options *options,
                                    char *err, size_t cap)
{
    if (!model->layers) {
        snprintf(err, cap, "%s was opened for its vocabulary only", model->path_name);
        return NULL;
    }
    engine_session *s = mem_new(1, sizeof *s);
    struct kv_shape shape = shape_of(model, options);
    s->model = model;
    s->n_ctx = shape.n_ctx;
    s->chunk = shape.chunk;
    s->rows = s->logits = memory_map(rows_bytes(model));
    s->forward = s->rows ? forward_open(model, &shape, options->threads, err, cap) : NULL;
    if (!s->forward) {
        if (!s->rows)
            snprintf(err, cap, "no memory for %zu bytes of logits", rows_bytes(model));
        engine_session_close(s);
        return NULL;
    }
    engine_session_set_lookup(s, true);
    engine_session_set_fast_head(s, true);
    s->sampler = sampler_open(model->info.n_vocab, model->vector);
    engine_session_seed(s, 0);
    return s;
}

void engine_session_close(engine_session *s)
{
    if (!s)
        return;
    forward_close(s->forward);
    sampler_close(s->sampler);
    engine_tokens_free(&s->tokens);
    lookup_close(s->lookup);
    free(s->always);
    memory_unmap(s->rows, rows_bytes(s->model));
    free(s);
}

int engine_session_n_ctx(const engine_session *s)
{
    return s->n_ctx;
}

int engine_session_threads(const engine_session *s)
{
    return forward_threads(s->forward);
}

void engine_session_set_threads(engine_session *s, int threads)
{
    forward_set_threads(s->forward, threads); /* where it fails the old team goes on */
}

void engine_session_set_lookup(engine_session *s, bool lookup)
{
    bool wanted = lookup && !kv_rings(forward_kv(s->forward));
    if (wanted == (s->lookup != NULL))
        return;
    lookup_close(s->lookup);
    s->lookup = wanted ? lookup_open(s->n_ctx) : NULL;
}

void engine_session_set_fast_head(engine_session *s, bool fast_head)
{
    s->fast_head = fast_head && model_splits_head(s->model);
    if (s->fast_head && !s->always) {
        size_t words = matmul_row_set_words(s->model->info.n_vocab);
        s->always = mem_new(words, sizeof *s->always);
        memcpy(s->always, s->model->uneven, words * sizeof *s->always);
    }
}

void engine_session_cancel(engine_session *s, bool cancel)
{
    atomic_store_explicit(&s->cancel, cancel, memory_order_relaxed);
}

/* ---- evaluation ------------------------------------------------------------------------------------------ */

static bool check_ids(const engine_session *s, const int32_t *ids, size_t n, char *err, size_t cap)
{
    for (size_t i = 0; i < n; i++)
        if (ids[i] < 0 || ids[i] >= s->model->info.n_vocab) {
            snprintf(err, cap, "there is no token %d: the vocabulary has %d", (int)ids[i], s->model->info.n_vocab);
            return false;
        }
    return true;
}

/* The first n evaluated tokens stay, or none where an attention window has already overwritten what they need. */
static void keep_evaluated(engine_session *s, size_t n)
{
    if (n < s->n_evaluated)
        s->n_evaluated = kv_holds(forward_kv(s->forward), (int)n, (int)s->high) ? n : 0;
    if (s->n_evaluated == 0)
        s->high = 0;
}

/* The context becomes its first n tokens. */
static void keep_tokens(engine_session *s, size_t n)
{
    s->tokens.n = n;
    s->draft.n = s->draft.used = 0;
    if (s->lookup)
        lookup_truncate(s->lookup, n);
}

static bool never_penalized(const void *tokenizer, int32_t id)
{
    return tokenizer_is_control(tokenizer, id);
}

/* Evaluates the last n tokens of the context and gives those logits that decide what is drawn from them. */
static bool run_for_draw(engine_session *s, const struct engine_sampling *how, size_t n)
{
    size_t n_penalized = 0;
    int k = sampler_top(s->sampler, how), n_vocab = s->model->info.n_vocab;
    const int32_t *penalized = sampler_penalized(s->sampler, how, s->tokens.ids, s->tokens.n, never_penalized,
                                                 s->model->tokenizer, &n_penalized);
    struct matmul_top top = {.k = k, .always = s->always, .bound = -INFINITY};
    bool few = k <= MATMUL_MAX_TOP && k + (int)n_penalized <= n_vocab / MANY_ROWS;
    s->best_only = s->fast_head && few;
    for (size_t i = 0; s->best_only && i < n_penalized; i++)
        matmul_row_set_add(s->always, penalized[i]);
    bool done = forward_run(s->forward, s->tokens.ids + s->tokens.n - n, (int)n, (int)(s->tokens.n - n), s->logits, 1,
                            s->best_only ? &top : NULL, &s->cancel);
    for (size_t i = 0; s->best_only && i < n_penalized; i++)
        s->always[penalized[i] / 16] = s->model->uneven[penalized[i] / 16];
    if (done && s->best_only) {
        s->stats.fast_tokens++;
        s->stats.fast_rows += atomic_load(&top.exact);
    }
    return done;
}

/* Evaluates the tokens from n_evaluated to the end of the context. rows: where their logits go, or NULL for the last
 * only. how: what the next token will be drawn by, if anything. */
static enum engine_status evaluate(engine_session *s, float *rows, const struct engine_sampling *how,
                                   void (*progress)(void *ctx, size_t done, size_t total), void *ctx)
{
    size_t n_vocab = (size_t)s->model->info.n_vocab, first = s->n_evaluated, total = s->tokens.n;
    if (first < total)
        s->logits = s->rows;
    while (s->n_evaluated < total) {
        size_t n = total - s->n_evaluated < (size_t)s->chunk ? total - s->n_evaluated : (size_t)s->chunk;
        bool last = s->n_evaluated + n == total;
        float *out = rows ? rows + (s->n_evaluated - first) * n_vocab : s->logits;
        s->logits_of = 0;
        s->draft.n = s->draft.used = 0;
        s->high = s->high > s->n_evaluated + n ? s->high : s->n_evaluated + n;
        s->best_only = false;
        bool done = last && !rows && how
                        ? run_for_draw(s, how, n)
                        : forward_run(s->forward, s->tokens.ids + s->n_evaluated, (int)n, (int)s->n_evaluated, out,
                                      rows ? (int)n : last, NULL, &s->cancel);
        if (!done)
            return ENGINE_CANCELLED;
        s->n_evaluated += n;
        if (progress)
            progress(ctx, s->n_evaluated - first, total - first);
    }
    if (rows && total > first)
        memcpy(s->logits, rows + (total - first - 1) * n_vocab, n_vocab * sizeof *s->logits);
    s->logits_of = total;
    return ENGINE_OK;
}

/* Makes the logits those of the whole context, as far as `how` needs them. */
static enum engine_status bring_current(engine_session *s, const struct engine_sampling *how,
                                        void (*progress)(void *ctx, size_t done, size_t total), void *ctx)
{
    if (s->tokens.n == 0)
        return ENGINE_OK;
    if (s->logits_of == s->tokens.n) {
        /* They may have been asked for by other settings. */
        if (s->best_only && !forward_complete(s->forward, s->logits, &s->cancel))
            return ENGINE_CANCELLED;
        s->best_only = false;
        return ENGINE_OK;
    }
    if (s->n_evaluated == s->tokens.n)
        keep_evaluated(s, s->tokens.n - 1);
    return evaluate(s, NULL, how, progress, ctx);
}

enum engine_status engine_session_prompt(engine_session *s, const int32_t *ids, size_t n,
                                         void (*progress)(void *ctx, size_t done, size_t total), void *ctx, char *err,
                                         size_t cap)
{
    if (!check_ids(s, ids, n, err, cap))
        return ENGINE_ERROR;
    if (n > (size_t)s->n_ctx)
        return ENGINE_FULL;
    double start = clock_ms();
    size_t common = 0;
    while (common < n && common < s->tokens.n && s->tokens.ids[common] == ids[common])
        common++;
    bool current = s->logits_of == n && common == n;
    keep_tokens(s, common);
    keep_evaluated(s, common);
    engine_tokens_append(&s->tokens, ids + common, n - common);
    if (!current)
        s->logits_of = 0;
    if (!current && n > 0 && s->n_evaluated == n)
        keep_evaluated(s, n - 1);
    size_t cached = s->n_evaluated;
    enum engine_status status = bring_current(s, NULL, progress, ctx);
    if (status != ENGINE_OK)
        keep_tokens(s, s->n_evaluated); /* what the person reads in the statistics is what the cache holds */
    s->prompt_start = start;
    s->first_token = 0;
    s->stats = (struct engine_stats){
        .prompt_tokens = (int)n,
        .cached_tokens = (int)cached,
        .evaluated_tokens = (int)(s->n_evaluated - cached),
        .prefill_ms = clock_ms() - start,
    };
    return status;
}

enum engine_status engine_session_eval(engine_session *s, const int32_t *ids, size_t n, float *logits, char *err,
                                       size_t cap)
{
    if (!check_ids(s, ids, n, err, cap))
        return ENGINE_ERROR;
    if (n > (size_t)s->n_ctx - s->tokens.n)
        return ENGINE_FULL;
    if (n == 0)
        return ENGINE_OK;
    size_t before = s->tokens.n;
    /* A token sampled but not yet evaluated belongs before these. */
    if (s->n_evaluated < before && logits) {
        enum engine_status status = evaluate(s, NULL, NULL, NULL, NULL);
        if (status != ENGINE_OK)
            return status;
    }
    engine_tokens_append(&s->tokens, ids, n);
    enum engine_status status = evaluate(s, logits, NULL, NULL, NULL);
    if (status != ENGINE_OK)
        keep_tokens(s, s->n_evaluated > before ? s->n_evaluated : before);
    return status;
}

void engine_session_truncate(engine_session *s, size_t n)
{
    if (n >= s->tokens.n)
        return;
    keep_tokens(s, n);
    keep_evaluated(s, n);
    if (s->logits_of != n)
        s->logits_of = 0;
}

const int32_t *engine_session_tokens(const engine_session *s, size_t *n)
{
    *n = s->tokens.n;
    return s->tokens.ids;
}

/* ---- sampling -------------------------------------------------------------------------------------------- */

void engine_session_seed(engine_session *s, uint64_t seed)
{
    if (seed == 0) {
#ifdef __linux__
        bool ok = getrandom(&seed, sizeof seed, 0) == sizeof seed;
#else
        bool ok = getentropy(&seed, sizeof seed) == 0;
#endif
        if (!ok)
            seed = (uint64_t)(clock_ms() * 1e6);
    }
    sampler_seed(s->sampler, seed);
}

static bool ends(const void *tokenizer, int32_t id)
{
    return tokenizer_is_end(tokenizer, id);
}

/* Evaluates the last token of the context and, where it pays, tokens that will probably follow it. They are not part
 * of the context, and the cache forgets them by being overwritten. */
static enum engine_status evaluate_ahead(engine_session *s, const struct engine_sampling *how)
{
    size_t n = s->tokens.n;
    int32_t batch[1 + LOOKUP_MAX];
    /* The last row of use is that of n_ctx - 1 tokens. */
    int room = s->n_ctx - 1 - (int)n, most = room < s->chunk - 1 ? room : s->chunk - 1;
    lookup_follow(s->lookup, s->tokens.ids, n);
    int k = lookup_draft(s->lookup, most, ends, s->model->tokenizer, batch + 1);
    double start = clock_ms();
    if (k == 0) {
        enum engine_status status = evaluate(s, NULL, how, NULL, NULL);
        if (status == ENGINE_OK)
            lookup_measured(s->lookup, 1, clock_ms() - start);
        return status;
    }
    batch[0] = s->tokens.ids[n - 1];
    s->logits = s->rows;
    s->logits_of = 0;
    s->best_only = false;
    s->high = s->high > n + (size_t)k ? s->high : n + (size_t)k;
    if (!forward_run(s->forward, batch, 1 + k, (int)n - 1, s->rows, 1 + k, NULL, &s->cancel))
        return ENGINE_CANCELLED;
    lookup_measured(s->lookup, 1 + k, clock_ms() - start);
    s->n_evaluated = s->logits_of = n;
    memcpy(s->draft.ids, batch + 1, (size_t)k * sizeof *batch);
    s->draft.n = k;
    s->draft.used = 0;
    s->stats.drafted_tokens += k;
    return ENGINE_OK;
}

/* Appends what was sampled. Where a draft said the same, it is evaluated already. */
static void append(engine_session *s, int32_t id)
{
    engine_tokens_push(&s->tokens, id);
    bool drafted = s->draft.used < s->draft.n && s->draft.ids[s->draft.used] == id;
    if (drafted) {
        s->draft.used++;
        s->stats.accepted_tokens++;
        s->n_evaluated = s->logits_of = s->tokens.n;
        s->logits += s->model->info.n_vocab;
    } else {
        s->draft.n = s->draft.used = 0;
    }
    if (s->lookup) {
        lookup_follow(s->lookup, s->tokens.ids, s->tokens.n - 1);
        lookup_sampled(s->lookup, id, drafted);
    }
}

enum engine_status engine_session_next(engine_session *s, const struct engine_sampling *sampling, int32_t *id,
                                       char *err, size_t cap)
{
    if (s->tokens.n == 0) {
        snprintf(err, cap, "there is no text to continue");
        return ENGINE_ERROR;
    }
    if (s->tokens.n >= (size_t)s->n_ctx)
        return ENGINE_FULL;
    bool ahead = s->lookup && s->logits_of != s->tokens.n && s->n_evaluated + 1 == s->tokens.n;
    enum engine_status status = ahead ? evaluate_ahead(s, sampling) : bring_current(s, sampling, NULL, NULL);
    if (status == ENGINE_OK && s->draft.used > 0 && atomic_load_explicit(&s->cancel, memory_order_relaxed))
        status = ENGINE_CANCELLED; /* as if it had yet to be evaluated */
    if (status != ENGINE_OK)
        return status;
    *id = sampler_draw(s->sampler, sampling, s->logits, s->tokens.ids, s->tokens.n, never_penalized,
                       s->model->tokenizer);
    if (*id < 0) {
        snprintf(err, cap, "the model's output holds no finite number: the file is damaged");
        return ENGINE_ERROR;
    }
    double now = clock_ms();
    if (s->first_token == 0) {
        s->first_token = now;
        s->stats.first_token_ms = now - s->prompt_start;
    }
    s->stats.decode_ms = now - s->first_token;
    if (tokenizer_is_end(s->model->tokenizer, *id))
        return ENGINE_END;
    s->stats.generated_tokens++;
    append(s, *id);
    return ENGINE_OK;
}

struct engine_stats engine_session_stats(const engine_session *s)
{
    struct engine_stats stats = s->stats;
    stats.context_tokens = (int)s->tokens.n;
    return stats;
}
