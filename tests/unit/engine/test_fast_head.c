/*
 * The output head at half the bytes: sessions that use it against sessions that compute every logit. What is sampled
 * and what it is sampled from must be the same, bit for bit, whatever the settings, and however they change.
 *
 * Real text is walked with the default model (CHINWAG_TEST_MODEL, set by `make test`; skipped without): 300 tokens,
 * or CHINWAG_POSITIONS of them.
 */
#include "../../../engine/session.h"
#include "session_test.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* The first N_FAST use the fast head of a large vocabulary, the first N_NANO also that of a small one. */
static const struct engine_sampling ways[] = {
    {.temperature = 0, .top_p = 1, .repeat_penalty = 1},
    {.temperature = .7f, .top_k = 1, .top_p = 1, .repeat_penalty = 1},
    {.temperature = 2, .top_k = 7, .top_p = .95f, .repeat_penalty = 1},
    {.temperature = 0, .top_p = 1, .repeat_penalty = 1.3f, .repeat_last_n = 8, .presence_penalty = .5f},
    {.temperature = 1, .top_k = 5, .top_p = 1, .min_p = .01f, .repeat_penalty = .7f, .repeat_last_n = 9},
    {.temperature = .7f, .top_k = 20, .top_p = .8f, .repeat_penalty = 1.1f, .repeat_last_n = 256},
    {.temperature = 1, .top_k = 40, .top_p = .95f, .min_p = .05f, .repeat_penalty = 1},
    {.temperature = 1.5f,
     .top_k = 200,
     .top_p = 1,
     .repeat_penalty = 1,
     .repeat_last_n = 64,
     .frequency_penalty = -1},
    {.temperature = 1, .top_k = 40, .top_p = 1, .repeat_penalty = 1.2f, .repeat_last_n = 512, .presence_penalty = -1},
    {.temperature = 1, .top_p = .9f, .repeat_penalty = 1.1f, .repeat_last_n = 64},
    {.temperature = 1, .top_p = 1, .min_p = .1f, .repeat_penalty = 1},
    {.temperature = 1, .top_k = 1 << 30, .top_p = 1, .repeat_penalty = 1},
};
#define N_WAYS (sizeof ways / sizeof *ways)
#define N_FAST 9
#define N_NANO 5

#define assert_ok(call) assert_int_equal(call, ENGINE_OK)
#define prompt(s, ids, n) engine_session_prompt(s, ids, n, NULL, NULL, err, sizeof err)
#define next(s, how, id) engine_session_next(s, how, id, err, sizeof err)

static const char *const q8_files[] = {GOLDEN "qwen2-nano-Q8_0.gguf", GOLDEN "qwen2-nano-odd-Q4_K_M.gguf"};

struct pair {
    engine_session *fast, *whole;
};

static struct pair open_pair(const engine_model *m, struct engine_session_options o)
{
    struct pair p = {open_session(m, o), open_session(m, o)};
    engine_session *both[] = {p.fast, p.whole};
    for (int i = 0; i < 2; i++) {
        engine_session_set_lookup(both[i], false);
        engine_session_seed(both[i], 1);
    }
    engine_session_set_fast_head(p.whole, false);
    return p;
}

static void close_pair(struct pair p)
{
    engine_session_close(p.fast);
    engine_session_close(p.whole);
}

static bool spared(const void *tokenizer, int32_t id)
{
    return tokenizer_is_control(tokenizer, id);
}

/* What the logits of both say is drawn from, after n tokens. */
static void same_distribution(struct pair p, const struct engine_sampling *how, size_t n)
{
    const struct candidate *a, *b;
    const double *pa, *pb;
    const void *tokenizer = p.fast->model->tokenizer;
    size_t na =
        sampler_distribution(p.fast->sampler, how, p.fast->logits, p.fast->tokens.ids, n, spared, tokenizer, &a, &pa);
    size_t nb = sampler_distribution(p.whole->sampler, how, p.whole->logits, p.whole->tokens.ids, n, spared,
                                     tokenizer, &b, &pb);
    assert_int_equal(na, nb);
    assert_memory_equal(a, b, na * sizeof *a);
    assert_memory_equal(pa, pb, na * sizeof *pa);
}

/* One token drawn by both, with the distribution it is from. */
static enum engine_status same_token(struct pair p, const struct engine_sampling *how)
{
    int32_t a, b;
    size_t n = p.fast->tokens.n;
    enum engine_status status = next(p.fast, how, &a);
    assert_int_equal(next(p.whole, how, &b), status);
    assert_true(status == ENGINE_OK || status == ENGINE_END);
    assert_int_equal(a, b);
    assert_false(p.whole->best_only);
    if (!p.fast->lookup) /* else an accepted draft's row may be the current one by now */
        same_distribution(p, how, n);
    return status;
}

static void fill(int32_t *ids, size_t n, int n_vocab)
{
    uint32_t state = 7;
    for (size_t i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        ids[i] = (int32_t)((state >> 8) % (uint32_t)n_vocab);
    }
}

static void settings_change_from_token_to_token(void **unused)
{
    (void)unused;
    for (size_t f = 0; f < sizeof q8_files / sizeof *q8_files; f++)
        for (int threads = 1; threads <= 3; threads += 2) {
            engine_model *m = open_model(q8_files[f]);
            int32_t ids[30];
            fill(ids, 30, engine_model_info(m)->n_vocab);
            struct pair p = open_pair(m, (struct engine_session_options){.threads = threads});
            assert_ok(prompt(p.fast, ids, 30));
            assert_ok(prompt(p.whole, ids, 30));
            for (size_t i = 0; i < 400; i++)
                if (same_token(p, &ways[i * 7 % N_WAYS]) == ENGINE_END) {
                    engine_session_truncate(p.fast, p.fast->tokens.n - 1);
                    engine_session_truncate(p.whole, p.whole->tokens.n - 1);
                }
            struct engine_stats stats = engine_session_stats(p.fast);
            if (model_splits_head(m)) { /* a kernel set without planes has nothing to compare */
                assert_true(stats.fast_tokens > 100);
                assert_true(stats.fast_rows >= stats.fast_tokens);
            }
            assert_int_equal(engine_session_stats(p.whole).fast_tokens, 0);
            close_pair(p);
            engine_model_close(m);
        }
}

/* Logits that only sufficed for one draw are completed for another, and whoever reads all logits gets them. */
static void the_same_place_is_drawn_from_again_by_other_settings(void **unused)
{
    (void)unused;
    engine_model *m = open_model(q8_files[0]);
    size_t n_vocab = (size_t)engine_model_info(m)->n_vocab;
    int32_t ids[40];
    fill(ids, 40, (int)n_vocab);
    struct pair p = open_pair(m, (struct engine_session_options){.threads = 2});
    for (size_t a = 0; a < N_NANO; a++)
        for (size_t b = 0; b < N_WAYS; b++) {
            size_t n = 20 + (a + b) % 3;
            assert_ok(prompt(p.fast, ids, n));
            assert_ok(prompt(p.whole, ids, n));
            engine_tokens_push(&p.fast->tokens, ids[n]); /* sampled elsewhere: evaluated by the next call */
            engine_tokens_push(&p.whole->tokens, ids[n]);
            same_token(p, &ways[a]);
            assert_int_equal(p.fast->best_only, model_splits_head(m));
            engine_session_truncate(p.fast, n + 1);
            engine_session_truncate(p.whole, n + 1);
            if (b % 4 == 1)
                engine_session_set_threads(p.fast, 1 + (int)(a + b) % 3);
            if (b % 3 == 2) { /* the whole context is asked for, as a prompt it equals */
                assert_ok(prompt(p.fast, ids, n + 1));
                assert_memory_equal(p.fast->logits, p.whole->logits, n_vocab * sizeof(float));
            }
            same_token(p, &ways[b]);
            assert_false(p.fast->best_only);
            assert_memory_equal(p.fast->logits, p.whole->logits, n_vocab * sizeof(float));
        }
    close_pair(p);
    engine_model_close(m);
}

static void cancelled_while_completing(void **unused)
{
    (void)unused;
    engine_model *m = open_model(q8_files[0]);
    int32_t ids[10], id;
    fill(ids, 10, engine_model_info(m)->n_vocab);
    struct pair p = open_pair(m, (struct engine_session_options){.threads = 2});
    assert_ok(prompt(p.fast, ids, 10));
    assert_ok(prompt(p.whole, ids, 10));
    same_token(p, &ways[2]);
    same_token(p, &ways[2]);
    size_t n = p.fast->tokens.n - 1;
    engine_session_truncate(p.fast, n);
    engine_session_truncate(p.whole, n);
    engine_session_cancel(p.fast, true);
    if (p.fast->best_only)
        assert_int_equal(next(p.fast, &ways[10], &id), ENGINE_CANCELLED);
    engine_session_cancel(p.fast, false);
    same_token(p, &ways[10]);
    close_pair(p);
    engine_model_close(m);
}

static void an_attention_window_and_drafts_go_with_it(void **unused)
{
    (void)unused;
    engine_model *m = open_model(q8_files[0]);
    int32_t ids[60];
    fill(ids, 60, engine_model_info(m)->n_vocab);
    memcpy(ids + 30, ids, 30 * sizeof *ids);
    for (int window = 0; window <= 40; window += 40) {
        struct pair p = open_pair(m, (struct engine_session_options){.threads = 2, .attn_window = window});
        engine_session_set_lookup(p.fast, true); /* refused where there is a window */
        if (p.fast->lookup)
            lookup_always(p.fast->lookup, true);
        assert_ok(prompt(p.fast, ids, 60));
        assert_ok(prompt(p.whole, ids, 60));
        for (int i = 0; i < 300; i++)
            if (same_token(p, &ways[i / 60]) == ENGINE_END)
                break;
        struct engine_stats stats = engine_session_stats(p.fast);
        assert_int_equal(stats.accepted_tokens > 0, window == 0);
        assert_int_equal(stats.fast_tokens > 0, model_splits_head(m));
        close_pair(p);
    }
    engine_model_close(m);
}

static void only_a_q8_0_head_that_is_repacked_has_it(void **unused)
{
    (void)unused;
    engine_model *m = open_model(GOLDEN "qwen2-nano-Q6_K.gguf");
    assert_false(model_splits_head(m));
    engine_model_close(m);
    m = engine_model_open(&(struct engine_model_options){.path = q8_files[0], .no_repack = true}, err, sizeof err);
    assert_non_null(m);
    assert_false(model_splits_head(m));
    engine_session *s = open_session(m, (struct engine_session_options){0});
    engine_session_set_fast_head(s, true);
    assert_false(s->fast_head);
    engine_session_close(s);
    engine_model_close(m);
}

/* ---- real text -------------------------------------------------------------------------------------------- */

static void append_file(const engine_model *m, const char *path, struct engine_tokens *out)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    static char text[1 << 20];
    size_t n = fread(text, 1, sizeof text, f);
    fclose(f);
    engine_tokenize(m, text, n, false, out);
}

static void real_text_token_by_token(void **unused)
{
    (void)unused;
    enum { CONTEXT = 1000 };
    const char *path = getenv("CHINWAG_TEST_MODEL"), *wanted = getenv("CHINWAG_POSITIONS");
    if (!path || access(path, R_OK) != 0) {
        print_message("skipped: CHINWAG_TEST_MODEL names no model\n");
        skip();
    }
    size_t positions = wanted ? (size_t)atol(wanted) : 300, done = 0, fast[N_WAYS] = {0};
    engine_model *m = open_model(path);
    struct engine_tokens text = {0};
    static const char *const texts[] = {"README.md", "tests/golden/README.md", "LICENSE",          "engine/engine.h",
                                        "ui/ui.h",   "data/store.h",           "engine/session.c", "Makefile"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        append_file(m, texts[i], &text);
    assert_true(text.n > positions);
    struct pair p = open_pair(m, (struct engine_session_options){.n_ctx = CONTEXT + 2});
    double rows[N_WAYS] = {0};
    for (size_t start = 0; done < positions; start += CONTEXT) {
        assert_ok(prompt(p.fast, text.ids + start, 1));
        assert_ok(prompt(p.whole, text.ids + start, 1));
        for (size_t i = 1; i < CONTEXT && done < positions; i++, done++) {
            struct engine_stats before = p.fast->stats;
            size_t way = done % N_WAYS;
            engine_tokens_push(&p.fast->tokens, text.ids[start + i]); /* the text's own, not what was drawn */
            engine_tokens_push(&p.whole->tokens, text.ids[start + i]);
            same_token(p, &ways[way]);
            engine_session_truncate(p.fast, i + 1);
            engine_session_truncate(p.whole, i + 1);
            fast[way] += (size_t)(p.fast->stats.fast_tokens - before.fast_tokens);
            rows[way] += (double)(p.fast->stats.fast_rows - before.fast_rows);
        }
    }
    for (size_t i = 0; i < N_WAYS; i++) {
        if (model_splits_head(m)) {
            assert_int_equal(fast[i] > 0, i < N_FAST);
            if (fast[i])
                print_message("top %d, last %d penalized: %.2f %% of the rows computed exactly\n",
                              ways[i].temperature > 0 ? ways[i].top_k : 1, ways[i].repeat_last_n,
                              100 * rows[i] / (double)fast[i] / engine_model_info(m)->n_vocab);
        }
    }
    print_message("%zu positions\n", done);
    engine_tokens_free(&text);
    close_pair(p);
    engine_model_close(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_change_from_token_to_token),
        cmocka_unit_test(the_same_place_is_drawn_from_again_by_other_settings),
        cmocka_unit_test(cancelled_while_completing),
        cmocka_unit_test(an_attention_window_and_drafts_go_with_it),
        cmocka_unit_test(only_a_q8_0_head_that_is_repacked_has_it),
        cmocka_unit_test(real_text_token_by_token),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
