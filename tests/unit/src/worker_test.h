/*
 * worker_test.h - what the tests of the worker share: waiting for events, and a conversation as the program holds
 * one.
 */
#ifndef WORKER_TEST_H
#define WORKER_TEST_H

#include "../../../src/base/mem.h"
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

enum { WAIT_MS = 120000 };

/* The default model's file, or skips the test. */
static inline const char *real_model(void)
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
static inline struct worker_event *next_event(struct worker *w)
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
static inline struct worker_event *wait_for(struct worker *w, enum worker_event_type type)
{
    for (;;) {
        struct worker_event *e = worker_wait(w, WAIT_MS);
        assert_non_null(e);
        if (e->type == type)
            return e;
        worker_event_free(e);
    }
}

static inline struct worker *start_worker_with(const struct worker_options *options, void (*notify)(void *ctx),
                                               void *ctx)
{
    char err[512] = "";
    struct worker *w = worker_open(options, notify, ctx, err, sizeof err);
    if (!w)
        fail_msg("%s", err);
    return w;
}

static inline struct worker *start_worker(const struct worker_options *options)
{
    return start_worker_with(options, NULL, NULL);
}

static inline struct worker *open_worker(const char *path, int n_ctx)
{
    struct worker_options options = {.model_path = path, .n_ctx = n_ctx, .threads = 2, .seed = 1};
    struct worker *w = start_worker(&options);
    struct worker_event *e = next_event(w);
    if (e->type != WORKER_LOADED)
        fail_msg("%s", e->text);
    worker_event_free(e);
    return w;
}

static inline void set_temperature(struct worker *w, float temperature)
{
    struct engine_sampling sampling = {.temperature = temperature, .top_p = 1, .repeat_penalty = 1, .seed = 1};
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

static inline struct chat *chat_new(struct worker *w)
{
    struct chat *c = mem_new(1, sizeof *c);
    c->w = w;
    c->next_id = 1000;
    c->conversation = 7;
    c->max_tokens = 24;
    return c;
}

/* Forgets the messages. */
static inline void chat_empty(struct chat *c)
{
    for (size_t i = 0; i < c->n; i++)
        free(c->texts[i]);
    c->n = 0;
}

static inline void chat_free(struct chat *c)
{
    chat_empty(c);
    free(c->summary);
    free(c->text);
    free(c);
}

static inline int64_t chat_add(struct chat *c, enum engine_role role, const char *text)
{
    assert_true(c->n < CHAT_MAX);
    c->texts[c->n] = mem_string(text);
    c->messages[c->n] = (struct worker_message){++c->next_id, role, c->texts[c->n], 0};
    c->n++;
    return c->next_id;
}

static inline struct worker_job chat_job(const struct chat *c, int64_t answer)
{
    return (struct worker_job){.conversation = c->conversation,
                               .answer = answer,
                               .system = c->system,
                               .summary = c->summary,
                               .messages = c->messages + c->summarized,
                               .n_messages = c->n - c->summarized,
                               .max_tokens = c->max_tokens,
                               .draw = answer && c->n ? c->n - 1 : 0};
}

static inline void chat_summarized(struct chat *c, const struct worker_event *e)
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
static inline void chat_wait(struct chat *c, int64_t answer)
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

static inline void chat_ask(struct chat *c, const char *text)
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

static inline void chat_compact(struct chat *c)
{
    struct worker_job job = chat_job(c, 0);
    worker_compact(c->w, &job);
}

static inline char *long_text(size_t bytes)
{
    static const char unit[] = "The quick brown fox jumps over the lazy dog and runs away. ";
    char *text = mem_new(bytes + 1, 1);
    for (size_t i = 0; i < bytes; i++)
        text[i] = unit[i % (sizeof unit - 1)];
    return text;
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

static inline void on_event(void *ctx)
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

static inline void wait_done(struct watch *watch, int n)
{
    for (int i = 0; i < WAIT_MS && watch->n_done < n; i++)
        usleep(1000);
    assert_true(watch->n_done >= n);
}

#endif
