/* test_model_notes.c - which windows are refused, and the sentences about a model. */
#include "../../../src/model_notes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define NANO "tests/golden/qwen2-nano-Q4_0.gguf" /* 2 layers, 2 heads of 64: 1 KiB a token; trained on 2,048 tokens */
#define MB 1000000ull

static engine_model *model;
static char said[8][400];
static size_t n_said;

static int open_model(void **state)
{
    (void)state;
    char err[300];
    model = engine_model_open(&(struct engine_model_options){.path = NANO, .threads = 1}, err, sizeof err);
    return model ? 0 : -1;
}

static int close_model(void **state)
{
    (void)state;
    engine_model_close(model);
    return 0;
}

static void note(void *ctx, const char *sentence)
{
    assert_ptr_equal(ctx, said);
    snprintf(said[n_said++], sizeof said[0], "%s", sentence);
}

static void notes(const struct engine_session_options *options)
{
    char err[300];
    engine_session *session = engine_session_open(model, options, err, sizeof err);
    assert_non_null(session);
    n_said = 0;
    model_notes(model, session, options, note, said);
    engine_session_close(session);
}

static void a_window_that_can_never_be_held_is_refused_with_the_ways_out(void **state)
{
    (void)state;
    char err[400] = "";
    struct engine_session_options options = {.n_ctx = 1 << 20, .threads = 1};
    struct engine_memory memory = {.most = 500 * MB, .available = 400 * MB};
    assert_false(model_window_fits(model, &options, memory, err, sizeof err));
    assert_non_null(strstr(err, "a window of 1048576 tokens needs 1.0 GiB of memory"));
    assert_non_null(strstr(err, "may use 476.8 MiB in all"));
    assert_non_null(strstr(err, "--kv q8_0 makes it 544.0 MiB"));
    long fits = 0;
    assert_int_equal(sscanf(strstr(err, "-c "), "-c %ld is the largest", &fits), 1);
    options.n_ctx = (int)fits;
    assert_true(model_window_fits(model, &options, memory, err, sizeof err));
    options.n_ctx = (int)fits + 1024;
    assert_false(model_window_fits(model, &options, memory, err, sizeof err));
    options.kv_type = ENGINE_KV_Q8_0;
    assert_true(model_window_fits(model, &options, memory, err, sizeof err));
    options.n_ctx = 1 << 20;
    assert_false(model_window_fits(model, &options, memory, err, sizeof err));
    assert_null(strstr(err, "--kv"));
    /* An attention window is a ring: small, whatever the window. */
    options.attn_window = 1024;
    assert_true(model_window_fits(model, &options, memory, err, sizeof err));
}

static void nothing_is_refused_where_memory_is_unknown(void **state)
{
    (void)state;
    char err[400] = "";
    assert_true(model_window_fits(model, &(struct engine_session_options){.n_ctx = 1 << 24},
                                  (struct engine_memory){0}, err, sizeof err));
}

static void a_model_as_it_should_be_gets_no_notes(void **state)
{
    (void)state;
    notes(&(struct engine_session_options){.threads = 1});
    assert_int_equal(n_said, 0);
    notes(&(struct engine_session_options){.n_ctx = 2048, .threads = 1});
    assert_int_equal(n_said, 0);
}

static void a_window_beyond_the_training_is_noted(void **state)
{
    (void)state;
    notes(&(struct engine_session_options){.n_ctx = 2049, .threads = 1});
    assert_int_equal(n_said, 1);
    assert_non_null(strstr(said[0], "of 2049 tokens is larger than the 2048"));
}

static void more_threads_than_cores_are_noted_with_the_share_to_expect(void **state)
{
    (void)state;
    char text[200];
    assert_false(model_threads_note(4, 4, text, sizeof text));
    assert_true(model_threads_note(8, 4, text, sizeof text));
    assert_non_null(strstr(text, "8 threads on 4 cores"));
    assert_non_null(strstr(text, "(-t 4)"));
    assert_true(model_threads_note(2, 1, text, sizeof text));
    assert_non_null(strstr(text, "2 threads on 1 core:"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_window_that_can_never_be_held_is_refused_with_the_ways_out),
        cmocka_unit_test(nothing_is_refused_where_memory_is_unknown),
        cmocka_unit_test(a_model_as_it_should_be_gets_no_notes),
        cmocka_unit_test(a_window_beyond_the_training_is_noted),
        cmocka_unit_test(more_threads_than_cores_are_noted_with_the_share_to_expect),
    };
    return cmocka_run_group_tests(tests, open_model, close_model);
}
