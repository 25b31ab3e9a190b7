/* test_worker.c - the worker over a real engine: loading, answers, settings, stops. A random model of 0.6 MB for
 * most, the default model where it is there. */
#include "../../../src/base/clock.h"
#include "../../../src/base/mem.h"
#include "worker_test.h"

#include <math.h>
#include <pthread.h>

enum {
    STOP_MS = 500, /* the promise is 50 ms; the machine that tests may be busy, so the measured figures are printed */
    STOPS = 5,     /* of which the median counts */
};

/* ---- loading ---- */

static void a_model_is_loaded_on_the_thread(void **state)
{
    (void)state;
    struct worker_options options = {.model_path = nano, .n_ctx = 512, .threads = 1};
    struct worker *w = start_worker(&options);
    struct worker_event *e = worker_wait(w, -1);
    assert_non_null(e);
    assert_int_equal(e->type, WORKER_LOADING);
    worker_event_free(e);
    e = wait_for(w, WORKER_LOADED);
    assert_string_equal(e->model, "qwen2-nano Q4_0");
    assert_int_equal(e->n_ctx, 512);
    assert_int_equal(e->threads, 1);
    assert_true(e->sampling.temperature > 0);
    worker_event_free(e);
    worker_close(w);
}

static void a_file_that_is_no_model_fails_and_the_next_one_can_be_loaded(void **state)
{
    (void)state;
    struct worker_options options = {.model_path = "no/such.gguf", .n_ctx = 512};
    struct worker *w = start_worker(&options);
    struct chat *c = chat_new(w);
    int64_t question = chat_add(c, ENGINE_USER, "Hello");
    struct worker_job job = chat_job(c, question + 1);
    worker_generate(w, &job);
    struct worker_event *e = next_event(w);
    assert_int_equal(e->type, WORKER_LOAD_FAILED);
    assert_non_null(strstr(e->text, "no/such.gguf"));
    worker_event_free(e);
    chat_wait(c, question + 1);
    assert_int_equal(c->end, WORKER_END_FAILED);
    assert_string_equal(c->text, "No model is loaded.");

    worker_load(w, nano);
    worker_event_free(wait_for(w, WORKER_LOADED));
    chat_ask(c, "Hello");
    worker_load(w, "README.md"); /* on failure the present one stays */
    worker_event_free(wait_for(w, WORKER_LOAD_FAILED));
    chat_ask(c, "Hello again");
    chat_free(c);
    worker_close(w);
}

static void what_is_asked_while_the_model_loads_is_answered_after(void **state)
{
    (void)state;
    struct worker_options options = {.model_path = nano, .n_ctx = 512, .threads = 2};
    struct worker *w = start_worker(&options);
    struct chat *c = chat_new(w);
    chat_ask(c, "Hello");
    assert_int_equal(c->n, 2);
    chat_free(c);
    worker_close(w);
}

static void another_model_takes_over_the_conversation(void **state)
{
    (void)state;
    struct worker *w = open_worker(nano, 512);
    struct chat *c = chat_new(w);
    chat_ask(c, "Hello");
    worker_load(w, "tests/golden/llama-nano-Q4_0.gguf");
    worker_event_free(wait_for(w, WORKER_LOADED));
    chat_ask(c, "And now?");
    assert_int_equal(c->stats.cached_tokens, 0);
    chat_free(c);
    worker_close(w);
}

/* What runs would go on for minutes: at temperature 0 the model answers in circles until the window is full. */
static void closing_does_not_wait_for_what_runs(void **state)
{
    (void)state;
    double longest = 0;
    for (int i = 0; i < 10; i++) {
        struct worker_options options = {.model_path = nano, .n_ctx = 32768, .threads = 2};
        struct worker *w = start_worker(&options);
        struct chat *c = chat_new(w);
        set_temperature(w, 0);
        c->max_tokens = 0;
        struct worker_job job = chat_job(c, chat_add(c, ENGINE_USER, "Hello") + 1);
        job.n_messages = 1;
        if (i % 2)
            worker_event_free(wait_for(w, WORKER_LOADED));
        worker_generate(w, &job);
        worker_generate(w, &job);
        if (i % 4 == 3)
            worker_event_free(wait_for(w, WORKER_PIECE));
        usleep((useconds_t)i * 3000);
        double start = clock_ms();
        worker_close(w);
        longest = fmax(longest, clock_ms() - start);
        chat_free(c);
    }
    print_message("figure: closing took %.0f ms at most\n", longest);
    assert_true(longest < 2000);
}

#ifdef __GLIBC__
static void a_thread_that_cannot_be_started_is_said(void **state)
{
    (void)state;
    char err[512] = "";
    struct worker_options options = {.model_path = nano};
    pthread_attr_t usual, huge;
    pthread_getattr_default_np(&usual);
    pthread_attr_init(&huge);
    pthread_attr_setstacksize(&huge, (size_t)1 << 47); /* more than there are addresses */
    pthread_setattr_default_np(&huge);
    struct worker *w = worker_open(&options, NULL, NULL, err, sizeof err);
    pthread_setattr_default_np(&usual);
    pthread_attr_destroy(&huge);
    pthread_attr_destroy(&usual);
    assert_null(w);
    assert_non_null(strstr(err, "no thread can be started"));
}
#endif

/* ---- turns ---- */

/* What the model says to `question` with this seed, hot: random weights end soon then, and within a character now and
 * then. NULL where it does not end by itself; *held tells whether the last token left a character unfinished. */
static char *say(engine_session *s, const engine_model *m, const char *question, uint64_t seed, bool *held)
{
    static const struct engine_sampling hot = {.temperature = 20, .top_p = 1, .repeat_penalty = 1};
    char err[512], piece[ENGINE_PIECE_MAX], *text = mem_string("");
    const struct engine_message message = {ENGINE_USER, question, strlen(question), NULL, 0};
    struct engine_tokens prompt = {0};
    struct engine_stream stream = {0};
    size_t n = 0;
    assert_true(engine_render_chat(m, &message, 1, true, &prompt, err, sizeof err));
    assert_int_equal(engine_session_prompt(s, prompt.ids, prompt.n, NULL, NULL, err, sizeof err), ENGINE_OK);
    engine_tokens_free(&prompt);
    engine_session_seed(s, seed);
    enum engine_status status;
    for (int32_t id; (status = engine_session_next(s, &hot, &id, err, sizeof err)) == ENGINE_OK;) {
        size_t len = engine_stream_push(&stream, m, id, piece, sizeof piece);
        text = mem_resize(text, n + len + 1, 1);
        memcpy(text + n, piece, len + 1);
        n += len;
    }
    *held = stream.n_held > 0;
    if (status == ENGINE_END && !memchr(text, '\0', n))
        return text;
    free(text);
    return NULL;
}

static void an_answer_that_ends_within_a_character_says_so(void **state)
{
    (void)state;
    char err[512], *said = NULL;
    engine_model *m = engine_model_open(&(struct engine_model_options){.path = nano}, err, sizeof err);
    assert_non_null(m);
    engine_session *s =
        engine_session_open(m, &(struct engine_session_options){.n_ctx = 1024, .threads = 2}, err, sizeof err);
    assert_non_null(s);
    uint64_t seed = 0;
    for (bool held = false; !said || !held;) {
        free(said);
        said = say(s, m, "Hello", ++seed, &held);
        assert_true(seed < 1000);
    }
    engine_session_close(s);
    engine_model_close(m);

    struct worker *w = open_worker(nano, 1024);
    struct chat *c = chat_new(w);
    worker_set_sampling(w,
                        &(struct engine_sampling){.temperature = 20, .top_p = 1, .repeat_penalty = 1, .seed = seed});
    c->max_tokens = 0;
    chat_ask(c, "Hello");
    assert_int_equal(c->end, WORKER_END_COMPLETE);
    assert_int_equal(strlen(c->text), strlen(said) + 3);
    assert_memory_equal(c->text, said, strlen(said));
    assert_string_equal(c->text + strlen(said), "\uFFFD");
    /* All that was sampled is part of the next prompt: nothing of it is evaluated again. */
    int so_far = c->stats.context_tokens;
    c->max_tokens = 1;
    chat_ask(c, "Go on");
    assert_true(c->stats.cached_tokens >= so_far - 1);
    free(said);
    chat_free(c);
    worker_close(w);
}

static void check_cache(const char *path)
{
    struct worker *w = open_worker(path, 1024);
    struct chat *c = chat_new(w);
    set_temperature(w, 0.8f);
    chat_ask(c, "My name is Dana. What is the capital of France?");
    assert_int_equal(c->stats.cached_tokens, 0);
    assert_int_equal(c->stats.evaluated_tokens, c->stats.prompt_tokens);
    for (int i = 0; i < 4; i++) {
        struct engine_stats before = c->stats;
        chat_ask(c, "And what about this one?");
        assert_int_equal(c->stats.cached_tokens + c->stats.evaluated_tokens, c->stats.prompt_tokens);
        /* all of the last prompt and its answer, whose last token had not been evaluated */
        assert_true(c->stats.cached_tokens >= before.prompt_tokens + before.generated_tokens - 1);
        assert_in_range(c->stats.evaluated_tokens, 1, 60);
        printf("figure: turn %d: prompt %d, cached %d, evaluated %d\n", i + 2, c->stats.prompt_tokens,
               c->stats.cached_tokens, c->stats.evaluated_tokens);
    }
    chat_free(c);
    worker_close(w);
}

static void a_second_turn_evaluates_only_its_new_tokens(void **state)
{
    (void)state;
    check_cache(nano);
}

static void a_second_turn_evaluates_only_its_new_tokens_with_the_default_model(void **state)
{
    (void)state;
    check_cache(real_model());
}

static void an_answer_ends_at_its_limit_and_at_the_windows(void **state)
{
    (void)state;
    struct worker *w = open_worker(nano, 256);
    struct chat *c = chat_new(w);
    bool seen[2] = {false, false};
    for (int i = 0; i < 40 && !(seen[0] && seen[1]); i++) { /* a random model may end sooner */
        set_temperature(w, 1.5f);
        c->conversation++;
        chat_empty(c);
        c->max_tokens = i % 2 ? 0 : 5;
        chat_ask(c, "Hello");
        assert_true(c->stats.context_tokens <= 256);
        if (c->max_tokens)
            assert_true(c->stats.generated_tokens <= 5);
        seen[i % 2] |= c->end == WORKER_END_LENGTH;
    }
    assert_true(seen[0] && seen[1]);
    chat_free(c);
    worker_close(w);
}

static void a_message_edited_under_its_id_is_read_anew(void **state)
{
    (void)state;
    struct worker *w = open_worker(nano, 512);
    struct chat *c = chat_new(w);
    chat_ask(c, "Hello");
    int prompt = c->stats.prompt_tokens;
    chat_empty(c);
    c->next_id = 1000;
    chat_ask(c, "Hello there, this is a good deal longer than before.");
    assert_true(c->stats.prompt_tokens > prompt + 5);
    chat_free(c);
    worker_close(w);
}

static void a_job_without_a_question_fails(void **state)
{
    (void)state;
    struct worker *w = open_worker(nano, 512);
    struct chat *c = chat_new(w);
    struct worker_job job = chat_job(c, 5);
    worker_generate(w, &job);
    chat_wait(c, 5);
    assert_int_equal(c->end, WORKER_END_FAILED);
    chat_free(c);
    worker_close(w);
}

static void a_template_gets_no_empty_answers(void **state)
{
    (void)state;
    struct worker *w = open_worker(nano, 512);
    struct chat *c = chat_new(w);
    chat_add(c, ENGINE_USER, "Hello");
    chat_ask(c, "Still there?");
    int prompt = c->stats.prompt_tokens;
    c->conversation++;
    chat_empty(c);
    chat_add(c, ENGINE_USER, "Hello");
    chat_add(c, ENGINE_ASSISTANT, "");
    chat_ask(c, "Still there?");
    assert_int_equal(c->stats.prompt_tokens, prompt);
    chat_free(c);
    worker_close(w);
}

/* ---- settings ---- */

static void watched_answer(struct watch *watch, int change_after)
{
    *watch = (struct watch){.change_after = change_after};
    struct worker_options options = {.model_path = nano, .n_ctx = 512, .threads = 1, .seed = 1};
    struct worker *w = start_worker_with(&options, on_event, watch);
    worker_event_free(wait_for(w, WORKER_LOADED));
    set_temperature(w, 0);
    watch->w = w;
    struct worker_message question = {1, ENGINE_USER, "Hello", 0};
    struct worker_job job = {
        .conversation = 1, .answer = 2, .messages = &question, .n_messages = 1, .max_tokens = 20};
    worker_generate(w, &job);
    wait_done(watch, 1);
    worker_close(w);
    for (int i = 0; i < watch->n_done; i++)
        worker_event_free(watch->done[i]);
}

static void a_changed_setting_acts_on_the_next_token(void **state)
{
    (void)state;
    struct watch greedy, changed;
    watched_answer(&greedy, 0);
    watched_answer(&changed, 3);
    assert_true(greedy.n_pieces > 6 && changed.n_pieces > 6);
    for (int i = 0; i < 3; i++)
        assert_string_equal(greedy.texts[i], changed.texts[i]);
    assert_string_not_equal(greedy.texts[3], changed.texts[3]); /* of hundreds of tokens, all as likely now */
}

static void all_signals_are_blocked_on_the_thread(void **state)
{
    (void)state;
    struct watch watch;
    watched_answer(&watch, 0);
    assert_true(watch.signals_blocked);
}

/* ---- stopping ---- */

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Runs the job until this event. An answer at a high temperature may end before its first piece: then it is asked
 * again. */
static void generate_until(struct worker *w, const struct worker_job *job, enum worker_event_type type)
{
    worker_generate(w, job);
    for (int asked = 1; asked < 20;) {
        struct worker_event *e = worker_wait(w, WAIT_MS);
        assert_non_null(e);
        enum worker_event_type came = e->type;
        if (came == WORKER_DONE) {
            assert_int_equal(e->end, WORKER_END_COMPLETE);
            worker_generate(w, job);
            asked++;
        }
        worker_event_free(e);
        if (came == type)
            return;
    }
    fail_msg("no answer has a piece");
}

static void stop_timed(const char *path, bool prefill, int n_ctx)
{
    struct worker *w = open_worker(path, n_ctx);
    struct chat *c = chat_new(w);
    double took[STOPS];
    char *text = long_text((size_t)n_ctx * 2);
    for (int i = 0; i < STOPS; i++) {
        c->conversation++;
        chat_empty(c);
        c->max_tokens = 0;
        set_temperature(w, 1.5f);
        int64_t question = chat_add(c, ENGINE_USER, prefill ? text : "Tell me a long story.");
        text[i] = 'x'; /* or the cache would hold it */
        struct worker_job job = chat_job(c, question + 1);
        generate_until(w, &job, prefill ? WORKER_STARTED : WORKER_PIECE);
        double start = clock_ms();
        worker_stop(w);
        struct worker_event *e = wait_for(w, WORKER_DONE);
        took[i] = clock_ms() - start;
        if (e->end == WORKER_END_STOPPED && prefill)
            assert_int_equal(e->stats.generated_tokens, 0);
        worker_event_free(e);
    }
    qsort(took, STOPS, sizeof *took, ascending);
    printf("figure: stop in %s: %.1f ms, at worst %.1f ms\n", prefill ? "prefill" : "decode", took[STOPS / 2],
           took[STOPS - 1]);
    assert_true(took[STOPS / 2] < STOP_MS);
    chat_empty(c);
    c->max_tokens = 8;
    chat_ask(c, "And now?");
    assert_int_not_equal(c->end, WORKER_END_STOPPED);
    free(text);
    chat_free(c);
    worker_close(w);
}

static void an_answer_stops_at_once_and_the_next_one_runs(void **state)
{
    (void)state;
    stop_timed(nano, false, 4096);
    stop_timed(nano, true, 4096);
}

static void the_default_model_stops_at_once_in_decode(void **state)
{
    (void)state;
    stop_timed(real_model(), false, 4096);
}

static void the_default_model_stops_at_once_in_prefill(void **state)
{
    (void)state;
    stop_timed(real_model(), true, 4096);
}

static void what_is_queued_is_stopped_too_and_says_so(void **state)
{
    (void)state;
    struct worker *w = open_worker(nano, 4096);
    struct chat *c = chat_new(w);
    chat_add(c, ENGINE_USER, "Hello");
    c->max_tokens = 2000;
    set_temperature(w, 1.5f);
    for (int64_t answer = 1; answer <= 5; answer++) {
        struct worker_job job = chat_job(c, answer);
        worker_generate(w, &job);
    }
    worker_stop(w);
    for (int64_t answer = 1; answer <= 5; answer++) {
        struct worker_event *e = wait_for(w, WORKER_DONE);
        assert_int_equal(e->answer, answer);
        assert_int_equal(e->end, WORKER_END_STOPPED);
        worker_event_free(e);
    }
    chat_free(c);
    worker_close(w);
}

/* The stop comes at every moment of the first answer; the second is given after it and must never suffer. */
static void a_stop_never_hits_a_later_answer(void **state)
{
    (void)state;
    struct worker *w = open_worker(nano, 512);
    struct chat *c = chat_new(w);
    chat_add(c, ENGINE_USER, "Hello");
    c->max_tokens = 8;
    set_temperature(w, 1);
    for (int i = 0; i < 200; i++) {
        struct worker_job job = chat_job(c, 2 * i + 1);
        worker_generate(w, &job);
        for (volatile int spin = 0; spin < i * 3000; spin++)
            ;
        worker_stop(w);
        job.answer = 2 * i + 2;
        worker_generate(w, &job);
        worker_event_free(wait_for(w, WORKER_DONE));
        struct worker_event *e = wait_for(w, WORKER_DONE);
        assert_int_equal(e->answer, 2 * i + 2);
        assert_int_not_equal(e->end, WORKER_END_STOPPED);
        worker_event_free(e);
    }
    chat_free(c);
    worker_close(w);
}

static void a_stopped_answer_is_continued_from_the_cache(void **state)
{
    (void)state;
    struct worker *w = open_worker(nano, 4096);
    struct chat *c = chat_new(w);
    set_temperature(w, 1.5f);
    c->max_tokens = 3000;
    int64_t answer = chat_add(c, ENGINE_USER, "Hello") + 1;
    struct worker_job job = chat_job(c, answer);
    worker_generate(w, &job);
    struct worker_event *e = wait_for(w, WORKER_PIECE);
    char *text = mem_string(e->text);
    worker_event_free(e);
    worker_stop(w);
    for (bool done = false; !done;) {
        e = next_event(w);
        if (e->type == WORKER_DONE) {
            done = true;
            free(text);
            text = mem_string(e->text);
            c->stats = e->stats;
        }
        worker_event_free(e);
    }
    chat_add(c, ENGINE_ASSISTANT, text);
    free(text);
    struct engine_stats before = c->stats;
    c->max_tokens = 8;
    chat_ask(c, "Go on.");
    /* what of it was no whole character is not repeated: four tokens at most */
    assert_true(c->stats.cached_tokens >= before.prompt_tokens + before.generated_tokens - 5);
    chat_free(c);
    worker_close(w);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_model_is_loaded_on_the_thread),
        cmocka_unit_test(a_file_that_is_no_model_fails_and_the_next_one_can_be_loaded),
        cmocka_unit_test(what_is_asked_while_the_model_loads_is_answered_after),
        cmocka_unit_test(another_model_takes_over_the_conversation),
        cmocka_unit_test(closing_does_not_wait_for_what_runs),
#ifdef __GLIBC__
        cmocka_unit_test(a_thread_that_cannot_be_started_is_said),
#endif
        cmocka_unit_test(a_second_turn_evaluates_only_its_new_tokens),
        cmocka_unit_test(a_second_turn_evaluates_only_its_new_tokens_with_the_default_model),
        cmocka_unit_test(an_answer_that_ends_within_a_character_says_so),
        cmocka_unit_test(an_answer_ends_at_its_limit_and_at_the_windows),
        cmocka_unit_test(a_message_edited_under_its_id_is_read_anew),
        cmocka_unit_test(a_job_without_a_question_fails),
        cmocka_unit_test(a_template_gets_no_empty_answers),
        cmocka_unit_test(a_changed_setting_acts_on_the_next_token),
        cmocka_unit_test(all_signals_are_blocked_on_the_thread),
        cmocka_unit_test(an_answer_stops_at_once_and_the_next_one_runs),
        cmocka_unit_test(the_default_model_stops_at_once_in_decode),
        cmocka_unit_test(the_default_model_stops_at_once_in_prefill),
        cmocka_unit_test(what_is_queued_is_stopped_too_and_says_so),
        cmocka_unit_test(a_stop_never_hits_a_later_answer),
        cmocka_unit_test(a_stopped_answer_is_continued_from_the_cache),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
