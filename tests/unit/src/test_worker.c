/* test_worker.c - the worker over a real engine: a random model of 0.6 MB for most, the default model where it is there. */
#include "../../../src/base.h"
#include "../../../src/summary.h"
#include "../../../src/window.h"
#include "../../../src/worker.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const char *const nano = "tests/golden/qwen2-nano-Q4_0.gguf";

enum {
    WAIT_MS = 120000,
    STOP_MS = 500, /* the promise is 50 ms; the machine that tests may be busy, so the measured figures are printed */
    STOPS = 5,     /* of which the median counts */
};

/* The default model's file, or skips the test. */
static const char *real_model(void)
{
    static char path[1024];
    const char *given = getenv("CHINWAG_TEST_MODEL"), *home = getenv("HOME");
    if (given && *given)
        snprintf(path, sizeof path, "%s", given);
    else
        snprintf(path, sizeof path, "%s/.local/share/chinwag/models/SmolLM2-135M-Instruct.Q4_1.gguf",
                 home ? home : "");
    if (access(path, R_OK) != 0)
        skip();
    return path;
}

/* ---- waiting ---- */

/* The next event that is not mere progress; fails the test when none comes. */
static struct worker_event *next_event(struct worker *w)
{
    for (;;) {
        struct worker_event *e = worker_wait(w, WAIT_MS);
        assert_non_null(e);
        if (e->type != WORKER_LOADING && e->type != WORKER_STARTED)
            return e;
        worker_event_free(e);
    }
}

/* Throws events away up to one of this type. */
static struct worker_event *wait_for(struct worker *w, enum worker_event_type type)
{
    for (;;) {
        struct worker_event *e = worker_wait(w, WAIT_MS);
        assert_non_null(e);
        if (e->type == type)
            return e;
        worker_event_free(e);
    }
}

static struct worker *open_worker(const char *path, int n_ctx)
{
    struct worker_options options = {.model_path = path, .n_ctx = n_ctx, .threads = 2, .seed = 1};
    struct worker *w = worker_open(&options, NULL, NULL);
    struct worker_event *e = next_event(w);
    if (e->type != WORKER_LOADED)
        fail_msg("%s", e->text);
    worker_event_free(e);
    return w;
}

static void set_temperature(struct worker *w, float temperature)
{
    struct engine_sampling sampling = {.temperature = temperature, .top_p = 1, .repeat_penalty = 1};
    worker_set_sampling(w, &sampling);
}

/* ---- a conversation, as the program holds one ---- */

enum { CHAT_MAX = 1024 };

struct chat {
    struct worker *w;
    struct worker_message messages[CHAT_MAX];
    char *texts[CHAT_MAX];
    size_t n, summarized; /* messages; how many of them the summary covers */
    char *summary;
    const char *system;
    int max_tokens;
    bool keeps_no_summaries; /* always sends all messages */
    int64_t next_id, conversation;
    /* of the last turn */
    struct engine_stats stats;
    enum worker_end end;
    char *text;
    int n_summaries, n_by_model, n_notices;
};

static struct chat *chat_new(struct worker *w)
{
    struct chat *c = mem_new(1, sizeof *c);
    c->w = w;
    c->next_id = 1000;
    c->conversation = 7;
    c->max_tokens = 24;
    return c;
}

/* Forgets the messages. */
static void chat_empty(struct chat *c)
{
    for (size_t i = 0; i < c->n; i++)
        free(c->texts[i]);
    c->n = 0;
}

static void chat_free(struct chat *c)
{
    chat_empty(c);
    free(c->summary);
    free(c->text);
    free(c);
}

static int64_t chat_add(struct chat *c, enum engine_role role, const char *text)
{
    assert_true(c->n < CHAT_MAX);
    c->texts[c->n] = mem_string(text);
    c->messages[c->n] = (struct worker_message){++c->next_id, role, c->texts[c->n]};
    c->n++;
    return c->next_id;
}

static struct worker_job chat_job(const struct chat *c, int64_t answer)
{
    return (struct worker_job){.conversation = c->conversation,
                               .answer = answer,
                               .system = c->system,
                               .summary = c->summary,
                               .messages = c->messages + c->summarized,
                               .n_messages = c->n - c->summarized,
                               .max_tokens = c->max_tokens};
}

static void chat_summarized(struct chat *c, const struct worker_event *e)
{
    assert_int_equal(e->conversation, c->conversation);
    assert_true(e->text && *e->text);
    assert_true(!strcmp(e->method, "model") || !strcmp(e->method, "extract"));
    assert_true(e->first <= e->last);
    c->n_summaries++;
    c->n_by_model += !strcmp(e->method, "model");
    free(c->summary);
    c->summary = NULL;
    if (c->keeps_no_summaries)
        return;
    assert_int_equal(e->first, c->messages[c->summarized].id);
    while (c->messages[c->summarized].id <= e->last)
        c->summarized++;
    assert_true(c->summarized < c->n);
    c->summary = mem_string(e->text);
}

/* Takes events up to WORKER_DONE of `answer`; checks that the pieces are the text. */
static void chat_wait(struct chat *c, int64_t answer)
{
    char *pieces = mem_string("");
    size_t n = 0;
    for (bool done = false; !done;) {
        struct worker_event *e = next_event(c->w);
        if (e->type == WORKER_PIECE) {
            assert_int_equal(e->answer, answer);
            assert_int_equal(strlen(e->text), e->len);
            pieces = mem_resize(pieces, n + e->len + 1, 1);
            memcpy(pieces + n, e->text, e->len + 1);
            n += e->len;
        } else if (e->type == WORKER_SUMMARY) {
            chat_summarized(c, e);
        } else if (e->type == WORKER_NOTICE) {
            c->n_notices++;
        } else if (e->type == WORKER_DONE && e->answer) { /* without one it is the end of a compaction */
            assert_int_equal(e->answer, answer);
            done = true;
            c->end = e->end;
            c->stats = e->stats;
            free(c->text);
            c->text = mem_string(e->text);
            if (e->end != WORKER_END_FAILED)
                assert_string_equal(pieces, e->text);
        }
        worker_event_free(e);
    }
    free(pieces);
}

static void chat_ask(struct chat *c, const char *text)
{
    chat_add(c, ENGINE_USER, text);
    int64_t answer = ++c->next_id;
    struct worker_job job = chat_job(c, answer);
    worker_generate(c->w, &job);
    chat_wait(c, answer);
    c->next_id = answer - 1;
    if (c->end == WORKER_END_FAILED)
        fail_msg("turn %zu: %s", c->n / 2, c->text);
    chat_add(c, ENGINE_ASSISTANT, c->text);
}

static void chat_compact(struct chat *c)
{
    struct worker_job job = chat_job(c, 0);
    worker_compact(c->w, &job);
}

static char *long_text(size_t bytes)
{
    static const char unit[] = "The quick brown fox jumps over the lazy dog and runs away. ";
    char *text = mem_new(bytes + 1, 1);
    for (size_t i = 0; i < bytes; i++)
        text[i] = unit[i % (sizeof unit - 1)];
    return text;
}

/* ---- loading ---- */

static void a_model_is_loaded_on_the_thread(void **state)
{
    (void)state;
    struct worker_options options = {.model_path = nano, .n_ctx = 512, .threads = 1};
    struct worker *w = worker_open(&options, NULL, NULL);
    struct worker_event *e = worker_wait(w, WAIT_MS);
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
    struct worker *w = worker_open(&options, NULL, NULL);
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
    struct worker *w = worker_open(&options, NULL, NULL);
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

static void closing_does_not_wait_for_what_runs(void **state)
{
    (void)state;
    for (int i = 0; i < 10; i++) {
        struct worker_options options = {.model_path = nano, .n_ctx = 4096, .threads = 2};
        struct worker *w = worker_open(&options, NULL, NULL);
        struct chat *c = chat_new(w);
        c->max_tokens = 0;
        struct worker_job job = chat_job(c, chat_add(c, ENGINE_USER, "Hello") + 1);
        job.n_messages = 1;
        if (i % 2)
            worker_event_free(wait_for(w, WORKER_LOADED));
        worker_generate(w, &job);
        worker_generate(w, &job);
        usleep((useconds_t)i * 3000);
        worker_close(w);
        chat_free(c);
    }
}

/* ---- turns ---- */

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

/* ---- events seen one by one: notify runs on the worker's thread, so what it does comes between two tokens ---- */

struct watch {
    struct worker *_Atomic w;     /* NULL: events are left to the test */
    int n_pieces, change_after;   /* set_temperature(hot) after so many */
    int compactions, generate_at; /* worker_generate at the first WORKER_COMPACTING */
    struct worker_job job;
    char texts[64][64];
    bool signals_blocked;
    struct worker_event *done[8];
    _Atomic int n_done;
    int n_summaries;
};

static void on_event(void *ctx)
{
    struct watch *watch = ctx;
    sigset_t mask;
    pthread_sigmask(SIG_BLOCK, NULL, &mask);
    watch->signals_blocked =
        sigismember(&mask, SIGWINCH) && sigismember(&mask, SIGINT) && sigismember(&mask, SIGTERM);
    if (!watch->w)
        return;
    for (struct worker_event *e; (e = worker_take(watch->w));) {
        switch (e->type) {
        case WORKER_PIECE:
            if (watch->n_pieces < 64)
                snprintf(watch->texts[watch->n_pieces], sizeof watch->texts[0], "%s", e->text);
            if (++watch->n_pieces == watch->change_after)
                set_temperature(watch->w, 50);
            break;
        case WORKER_COMPACTING:
            if (++watch->compactions == watch->generate_at)
                worker_generate(watch->w, &watch->job);
            break;
        case WORKER_SUMMARY: watch->n_summaries++; break;
        case WORKER_DONE:
            watch->done[watch->n_done] = e;
            watch->n_done++;
            continue;
        default: break;
        }
        worker_event_free(e);
    }
}

static void wait_done(struct watch *watch, int n)
{
    for (int i = 0; i < WAIT_MS && watch->n_done < n; i++)
        usleep(1000);
    assert_true(watch->n_done >= n);
}

static void watched_answer(struct watch *watch, int change_after)
{
    *watch = (struct watch){.change_after = change_after};
    struct worker_options options = {.model_path = nano, .n_ctx = 512, .threads = 1, .seed = 1};
    struct worker *w = worker_open(&options, on_event, watch);
    worker_event_free(wait_for(w, WORKER_LOADED));
    set_temperature(w, 0);
    watch->w = w;
    struct worker_message question = {1, ENGINE_USER, "Hello"};
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
        worker_generate(w, &job);
        struct worker_event *e = wait_for(w, prefill ? WORKER_STARTED : WORKER_PIECE);
        worker_event_free(e);
        double start = clock_ms();
        worker_stop(w);
        e = wait_for(w, WORKER_DONE);
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

/* ---- the window ---- */

/* A hundred turns that cannot all fit; what is between two compactions extends the cache. */
static void hundred_turns(const char *path, bool idle, bool keeps_no_summaries, int turns)
{
    struct worker *w = open_worker(path, 1024);
    struct chat *c = chat_new(w);
    c->keeps_no_summaries = keeps_no_summaries;
    int longest = 0, n_summaries = 0, n_extending = 0, n_reused = 0;
    double start = clock_ms();
    for (int i = 0; i < turns; i++) {
        char text[200];
        snprintf(text, sizeof text,
                 i ? "Question %d: what is %d plus %d, and why do people in Lisbon ask for it?"
                   : "My name is Dana. Please remember it.",
                 i, i, i + 1);
        struct engine_stats before = c->stats;
        n_summaries = c->n_summaries;
        chat_ask(c, text);
        assert_true(c->stats.prompt_tokens + c->stats.generated_tokens <= 1024);
        assert_true(c->stats.context_tokens <= 1024);
        longest = c->stats.context_tokens > longest ? c->stats.context_tokens : longest;
        if (i && c->n_summaries == n_summaries) {
            /* A random model's answers hold broken characters, whose tokens are not repeated. */
            n_reused += c->stats.cached_tokens >= before.prompt_tokens + before.generated_tokens - 5;
            n_extending++;
            assert_true(c->stats.cached_tokens >= before.prompt_tokens - 5 || idle);
        }
        if (idle)
            chat_compact(c);
    }
    printf("figure: %d turns in %.1f s, longest context %d of 1024, %d summaries, %d by the model\n", turns,
           (clock_ms() - start) / 1e3, longest, c->n_summaries, c->n_by_model);
    assert_true(c->n_summaries >= turns / 30);
    assert_true(idle || n_reused * 10 >= n_extending * 9);
    if (c->summary)
        assert_non_null(strstr(c->summary, "Dana"));
    chat_free(c);
    worker_close(w);
}

static void a_hundred_turns_never_fail(void **state)
{
    (void)state;
    hundred_turns(nano, false, false, 100);
}

static void a_hundred_turns_never_fail_when_compacted_in_idle_time(void **state)
{
    (void)state;
    hundred_turns(nano, true, false, 100);
}

static void a_hundred_turns_never_fail_when_all_messages_are_always_sent(void **state)
{
    (void)state;
    hundred_turns(nano, false, true, 100);
}

static void a_hundred_turns_never_fail_with_the_default_model(void **state)
{
    (void)state;
    hundred_turns(real_model(), false, false, 100);
}

static void a_message_larger_than_the_window_is_cut_with_a_notice(void **state)
{
    (void)state;
    struct worker *w = open_worker(nano, 512);
    struct chat *c = chat_new(w);
    char *text = long_text(100000);
    chat_ask(c, text);
    assert_int_equal(c->n_notices, 1);
    assert_true(c->stats.context_tokens <= 512);
    assert_true(c->stats.prompt_tokens > 256); /* and what fits is there */
    for (int i = 0; i < 5; i++)
        chat_ask(c, "And?");
    assert_int_equal(c->n_notices, 1);
    assert_true(c->n_summaries > 0);
    free(text);
    chat_free(c);
    worker_close(w);
}

static void a_system_prompt_larger_than_the_window_is_cut_with_a_notice(void **state)
{
    (void)state;
    struct worker *w = open_worker(nano, 512);
    struct chat *c = chat_new(w);
    char *system = long_text(20000);
    c->system = system;
    for (int i = 0; i < 5; i++)
        chat_ask(c, "Hello");
    assert_int_equal(c->n_notices, 1);
    assert_true(c->stats.cached_tokens > 100);
    free(system);
    chat_free(c);
    worker_close(w);
}

static void a_summary_from_a_larger_window_is_shortened(void **state)
{
    (void)state;
    struct worker *w = open_worker(nano, 512);
    struct chat *c = chat_new(w);
    c->summary = long_text(20000);
    chat_ask(c, "Hello");
    assert_true(c->stats.prompt_tokens < 256);
    chat_free(c);
    worker_close(w);
}

static void a_long_conversation_without_a_summary_is_taken_up(void **state)
{
    (void)state;
    struct worker *w = open_worker(nano, 512);
    struct chat *c = chat_new(w);
    char *text = long_text(300);
    chat_add(c, ENGINE_USER, "Hi, my name is Dana.");
    chat_add(c, ENGINE_ASSISTANT, "Hello Dana!");
    for (int i = 0; i < 200; i++) {
        chat_add(c, ENGINE_USER, text);
        chat_add(c, ENGINE_ASSISTANT, text);
    }
    chat_ask(c, "What is my name?");
    assert_true(c->n_summaries >= 1);
    assert_non_null(strstr(c->summary, "Dana"));
    assert_true(c->stats.context_tokens <= 512);
    free(text);
    chat_free(c);
    worker_close(w);
}

static void a_window_too_small_for_anything_fails_with_a_sentence(void **state)
{
    (void)state;
    struct worker *w = open_worker(nano, 16);
    struct chat *c = chat_new(w);
    int64_t question = chat_add(c, ENGINE_USER, "Hello, how are you today?");
    struct worker_job job = chat_job(c, question + 1);
    worker_generate(w, &job);
    chat_wait(c, question + 1);
    assert_int_equal(c->end, WORKER_END_FAILED);
    assert_non_null(strstr(c->text, "too small"));
    chat_free(c);
    worker_close(w);
}

/* Fills a window of 1024 to between the soft and the hard limit. */
static void fill(struct chat *c)
{
    c->max_tokens = 12;
    while (c->stats.context_tokens < 1024 * (WINDOW_SOFT + 0.03))
        chat_ask(c, "Tell me more about it.");
    assert_int_equal(c->n_summaries, 0);
}

static void idle_compaction_past_the_soft_limit_makes_room(void **state)
{
    (void)state;
    struct worker *w = open_worker(nano, 1024);
    struct chat *c = chat_new(w);
    chat_ask(c, "Hello, my name is Dana.");
    chat_compact(c); /* far from the limit: nothing comes of it */
    fill(c);
    int before = c->stats.context_tokens;
    chat_compact(c);
    struct worker_event *e = next_event(w);
    assert_int_equal(e->type, WORKER_COMPACTING);
    worker_event_free(e);
    e = wait_for(w, WORKER_SUMMARY);
    chat_summarized(c, e);
    worker_event_free(e);
    e = wait_for(w, WORKER_DONE);
    assert_int_equal(e->answer, 0);
    assert_int_equal(e->end, WORKER_END_COMPLETE);
    assert_true(e->stats.context_tokens < before);
    worker_event_free(e);
    chat_ask(c, "What is my name?");
    assert_in_range(c->stats.evaluated_tokens, 1, 60); /* the rest was read in idle time */
    chat_free(c);
    worker_close(w);
}

static void idle_compaction_gives_way_to_a_question_and_costs_it_nothing(void **state)
{
    (void)state;
    struct watch watch = {.generate_at = 1};
    struct worker_options options = {.model_path = nano, .n_ctx = 1024, .threads = 1, .seed = 1};
    struct worker *w = worker_open(&options, on_event, &watch);
    worker_event_free(wait_for(w, WORKER_LOADED));
    struct chat *c = chat_new(w);
    fill(c);
    struct worker_job compact = chat_job(c, 0);
    chat_add(c, ENGINE_USER, "Another question.");
    watch.job = chat_job(c, c->next_id + 1);
    watch.w = w;
    worker_compact(w, &compact);
    wait_done(&watch, 2);
    assert_int_equal(watch.done[0]->answer, 0);
    assert_int_equal(watch.done[0]->end, WORKER_END_STOPPED);
    assert_int_equal(watch.done[1]->answer, c->next_id + 1);
    assert_int_not_equal(watch.done[1]->end, WORKER_END_STOPPED);
    assert_int_equal(watch.n_summaries, 0);
    assert_true(watch.done[1]->stats.cached_tokens >= c->stats.prompt_tokens);
    worker_close(w);
    for (int i = 0; i < watch.n_done; i++)
        worker_event_free(watch.done[i]);
    chat_free(c);
}

static void a_stopped_compaction_changes_nothing(void **state)
{
    (void)state;
    struct worker *w = open_worker(nano, 1024);
    struct chat *c = chat_new(w);
    fill(c);
    chat_compact(c);
    worker_stop(w); /* before, while or after it runs */
    chat_ask(c, "And?");
    assert_int_not_equal(c->end, WORKER_END_STOPPED);
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
        cmocka_unit_test(a_second_turn_evaluates_only_its_new_tokens),
        cmocka_unit_test(a_second_turn_evaluates_only_its_new_tokens_with_the_default_model),
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
        cmocka_unit_test(a_hundred_turns_never_fail),
        cmocka_unit_test(a_hundred_turns_never_fail_when_compacted_in_idle_time),
        cmocka_unit_test(a_hundred_turns_never_fail_when_all_messages_are_always_sent),
        cmocka_unit_test(a_hundred_turns_never_fail_with_the_default_model),
        cmocka_unit_test(a_message_larger_than_the_window_is_cut_with_a_notice),
        cmocka_unit_test(a_system_prompt_larger_than_the_window_is_cut_with_a_notice),
        cmocka_unit_test(a_summary_from_a_larger_window_is_shortened),
        cmocka_unit_test(a_long_conversation_without_a_summary_is_taken_up),
        cmocka_unit_test(a_window_too_small_for_anything_fails_with_a_sentence),
        cmocka_unit_test(idle_compaction_past_the_soft_limit_makes_room),
        cmocka_unit_test(idle_compaction_gives_way_to_a_question_and_costs_it_nothing),
        cmocka_unit_test(a_stopped_compaction_changes_nothing),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
