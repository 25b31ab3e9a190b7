/* worker.c - the worker's thread, its two queues, and loading a model. See worker.h. */
#include "worker.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"
#include "model_notes.h"
#include "models.h"
#include "worker_state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROGRESS_MS 50.0

/* ---- commands ---- */

static struct job *job_copy(const struct worker_job *from)
{
    struct job *job = mem_new(1, sizeof *job);
    *job = (struct job){.conversation = from->conversation,
                        .answer = from->answer,
                        .system = mem_string(from->system),
                        .summary = mem_string(from->summary),
                        .messages = mem_new(from->n_messages, sizeof *job->messages),
                        .n_messages = from->n_messages,
                        .max_tokens = from->max_tokens,
                        .draw = from->draw,
                        .skip_thought = from->skip_thought,
                        .stop_loops = from->stop_loops};
    for (size_t i = 0; i < from->n_messages; i++) {
        const struct worker_message *m = &from->messages[i];
        job->messages[i] = (struct job_message){m->id, m->role, mem_string(m->text), strlen(m->text), m->own};
    }
    return job;
}

static void command_free(struct command *c)
{
    if (!c)
        return;
    if (c->job) {
        for (size_t i = 0; i < c->job->n_messages; i++)
            free(c->job->messages[i].text);
        free(c->job->messages);
        free(c->job->system);
        free(c->job->summary);
        free(c->job);
    }
    free(c->path);
    free(c);
}

/* For idle time: gives way to whatever comes. */
static bool is_for_idle_time(const struct command *c)
{
    return c->type == COMMAND_COMPACT || c->type == COMMAND_PREPARE;
}

static void enqueue(struct worker *w, struct command *c)
{
    if (w->last_command)
        w->last_command->next = c;
    else
        w->commands = c;
    w->last_command = c;
    if (w->running && is_for_idle_time(w->running) && w->session)
        engine_session_cancel(w->session, true);
}

/* A guess waits beside the queue. It does not cancel the one before, whose beginning it most likely shares: that one
 * looks for it itself, now and then. */
static void give(struct worker *w, enum command_type type, struct job *job, const char *path)
{
    struct command *c = mem_new(1, sizeof *c);
    *c = (struct command){.type = type, .job = job, .path = mem_string(path)};
    if (job)
        job->given_ms = clock_ms();
    pthread_mutex_lock(&w->lock);
    struct command *dropped = w->guess;
    c->stops = w->stops;
    w->guess = type == COMMAND_PREPARE ? c : NULL;
    if (type != COMMAND_PREPARE)
        enqueue(w, c);
    pthread_cond_signal(&w->commanded);
    pthread_mutex_unlock(&w->lock);
    command_free(dropped);
}

/* The next command; NULL when the worker is being closed. From here to the next call it is the one that worker_stop
 * means: the cancel flag is cleared under the same lock, so a stop either came before (and the command is stale) or
 * sets it again. */
static struct command *next_command(struct worker *w, bool *stale)
{
    pthread_mutex_lock(&w->lock);
    w->running = NULL;
    while (!w->commands && !w->guess && !w->closing)
        pthread_cond_wait(&w->commanded, &w->lock);
    struct command *c = w->closing ? NULL : w->commands ? w->commands : w->guess;
    if (c) {
        if (c == w->guess)
            w->guess = NULL;
        else
            w->commands = c->next;
        if (!w->commands)
            w->last_command = NULL;
        bool overtaken = c->type == COMMAND_COMPACT && w->commands;
        *stale = c->type != COMMAND_LOAD && (c->stops != w->stops || overtaken);
        w->running = c;
        if (w->session)
            engine_session_cancel(w->session, false);
    }
    pthread_mutex_unlock(&w->lock);
    return c;
}

bool worker_interrupted(struct worker *w)
{
    pthread_mutex_lock(&w->lock);
    const struct command *c = w->running;
    bool interrupted = w->closing || (c && c->type != COMMAND_LOAD && c->stops != w->stops) ||
                       (c && is_for_idle_time(c) && w->commands) || (c && c->type == COMMAND_PREPARE && w->guess);
    pthread_mutex_unlock(&w->lock);
    return interrupted;
}

/* ---- events ---- */

struct queued_event *worker_event_new(enum worker_event_type type, const struct job *job)
{
    struct queued_event *e = mem_new(1, sizeof *e);
    e->event.type = type;
    if (job) {
        e->event.conversation = job->conversation;
        e->event.answer = job->answer;
    }
    return e;
}

static void add_text(struct queued_event *to, const char *text, size_t len)
{
    size_t need = to->event.len + len + 1;
    if (need > to->cap) {
        to->cap = need * 2;
        to->event.text = mem_resize(to->event.text, to->cap, 1);
    }
    memcpy(to->event.text + to->event.len, text, len + 1);
    to->event.len += len;
}

/* Puts e into the last event waiting, if both are pieces of one answer or both only say how far something is. */
static bool coalesce(struct queued_event *last, struct queued_event *e)
{
    if (!last || last->event.type != e->event.type || last->event.answer != e->event.answer)
        return false;
    switch (e->event.type) {
    case WORKER_PIECE:
        add_text(last, e->event.text, e->event.len);
        last->event.stats = e->event.stats;
        return true;
    case WORKER_STARTED:
    case WORKER_LOADING:
        last->event.progress = e->event.progress;
        last->event.stats = e->event.stats;
        return true;
    default: return false;
    }
}

void worker_emit(struct worker *w, struct queued_event *e)
{
    if (e->event.text)
        e->event.len = strlen(e->event.text);
    pthread_mutex_lock(&w->lock);
    if (coalesce(w->last_event, e)) {
        worker_event_free(&e->event);
    } else {
        if (w->last_event)
            w->last_event->next = e;
        else
            w->events = e;
        w->last_event = e;
    }
    pthread_cond_signal(&w->happened);
    pthread_mutex_unlock(&w->lock);
    if (w->notify)
        w->notify(w->notify_ctx);
}

void worker_notice(struct worker *w, const struct job *job, const char *text)
{
    struct queued_event *e = worker_event_new(WORKER_NOTICE, job);
    e->event.text = mem_string(text);
    worker_emit(w, e);
}

bool worker_progress_due(struct worker *w, bool last)
{
    double now = clock_ms();
    if (!last && now - w->last_progress_ms < PROGRESS_MS)
        return false;
    w->last_progress_ms = now;
    return true;
}

/* ---- settings ---- */

void worker_take_threads(struct worker *w)
{
    int threads = atomic_load(&w->threads);
    if (threads == w->session_threads)
        return;
    w->session_threads = threads;
    engine_session_set_threads(w->session, threads);
    char text[300];
    if (model_threads_note(engine_session_threads(w->session), engine_default_threads(), text, sizeof text))
        worker_notice(w, NULL, text);
}

struct engine_sampling worker_sampling(struct worker *w)
{
    pthread_mutex_lock(&w->lock);
    struct engine_sampling sampling = w->sampling;
    pthread_mutex_unlock(&w->lock);
    return sampling;
}

static void start_random_numbers(struct worker *w, uint64_t seed)
{
    const uint64_t apart = 0x9e3779b97f4a7c15; /* 2^64 / golden ratio: far from what other small seeds give */
    w->seed = seed;
    engine_session_seed(w->session, seed ? seed + w->draw * apart : 0);
}

void worker_apply_settings(struct worker *w)
{
    uint64_t seed = worker_sampling(w).seed;
    if (seed != w->seed)
        start_random_numbers(w, seed);
    worker_take_threads(w);
}

void worker_seed_answer(struct worker *w, const struct job *job)
{
    uint64_t seed = worker_sampling(w).seed;
    w->draw = job->draw;
    if (seed)
        start_random_numbers(w, seed);
}

/* ---- loading ---- */

static bool loading(void *ctx, float done)
{
    struct worker *w = ctx;
    if (worker_progress_due(w, done >= 1)) {
        struct queued_event *e = worker_event_new(WORKER_LOADING, NULL);
        e->event.progress = done;
        worker_emit(w, e);
    }
    return !worker_interrupted(w);
}

static void note(void *ctx, const char *sentence)
{
    worker_notice(ctx, NULL, sentence);
}

static void take_model(struct worker *w, engine_model *model, engine_session *session)
{
    engine_session *old = w->session;
    pthread_mutex_lock(&w->lock);
    w->session = session;
    if (!w->sampling_given)
        w->sampling = engine_default_sampling(model);
    if (!w->sampling.seed)
        w->sampling.seed = w->options.seed;
    pthread_mutex_unlock(&w->lock);
    engine_session_close(old);
    engine_model_close(w->model);
    w->model = model;
    w->seed = w->options.seed;
    engine_session_seed(session, w->seed);
    recall_forget_tokens(w->recall);
    worker_learn_template(w);
}

static void load(struct worker *w, const char *path)
{
    char err[512] = "";
    loading(w, 0);
    int threads = atomic_load(&w->threads);
    struct engine_model_options options = {.path = path,
                                           .no_mmap = w->options.no_mmap,
                                           .no_repack = w->options.no_repack,
                                           .threads = threads,
                                           .progress = loading,
                                           .progress_ctx = w};
    struct engine_session_options session_options = {.n_ctx = w->options.n_ctx,
                                                     .threads = threads,
                                                     .kv_type = w->options.kv_type,
                                                     .attn_window = w->options.attn_window};
    engine_model *model = engine_model_open(&options, err, sizeof err);
    engine_session *session = model ? model_open_session(model, &session_options, err, sizeof err) : NULL;
    if (!session) {
        engine_model_close(model);
        struct queued_event *e = worker_event_new(WORKER_LOAD_FAILED, NULL);
        e->event.text = mem_string(err);
        worker_emit(w, e);
        return;
    }
    w->session_threads = threads;
    take_model(w, model, session);
    struct queued_event *e = worker_event_new(WORKER_LOADED, NULL);
    model_display_name(path, engine_model_info(model)->quantization, e->event.model, sizeof e->event.model);
    e->event.n_ctx = engine_session_n_ctx(session);
    e->event.threads = engine_session_threads(session);
    e->event.sampling = engine_default_sampling(model);
    worker_emit(w, e);
    model_notes(model, session, &session_options, note, w);
}

/* ---- the thread ---- */

static void carry_out(struct worker *w, struct command *c, bool stale)
{
    switch (c->type) {
    case COMMAND_LOAD: load(w, c->path); break;
    case COMMAND_COMPACT:
        if (!stale && w->session)
            worker_compact_idle(w, c->job);
        break;
    case COMMAND_PREPARE:
        if (!stale && w->session)
            worker_read_ahead(w, c->job);
        break;
    case COMMAND_GENERATE:
        if (stale)
            worker_answer_ended(w, c->job, WORKER_END_STOPPED, "");
        else if (!w->session)
            worker_answer_ended(w, c->job, WORKER_END_FAILED, "No model is loaded.");
        else
            worker_answer(w, c->job);
        break;
    }
}

static void *run(void *arg)
{
    struct worker *w = arg;
    struct command *c;
    bool stale = false;
    while ((c = next_command(w, &stale))) {
        carry_out(w, c, stale);
        pthread_mutex_lock(&w->lock);
        w->running = NULL;
        pthread_mutex_unlock(&w->lock);
        command_free(c);
    }
    engine_session_close(w->session);
    engine_model_close(w->model);
    return NULL;
}

/* ---- public ---- */

/* Once there is no thread. */
static void release(struct worker *w)
{
    command_free(w->guess);
    for (struct command *c = w->commands, *next; c; c = next) {
        next = c->next;
        command_free(c);
    }
    for (struct worker_event *e; (e = worker_take(w));)
        worker_event_free(e);
    recall_free(w->recall);
    pthread_cond_destroy(&w->commanded);
    pthread_cond_destroy(&w->happened);
    pthread_mutex_destroy(&w->lock);
    free(w);
}

struct worker *worker_open(const struct worker_options *options, void (*notify)(void *ctx), void *ctx, char *err,
                           size_t cap)
{
    struct worker *w = mem_new(1, sizeof *w);
    w->options = *options;
    w->options.model_path = NULL;
    w->notify = notify;
    w->notify_ctx = ctx;
    w->recall = recall_new();
    w->last_progress_ms = -PROGRESS_MS;
    atomic_init(&w->threads, options->threads);
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->commanded, NULL);
    cond_init(&w->happened);
    give(w, COMMAND_LOAD, NULL, options->model_path);

    int error = thread_start(&w->thread, run, w);
    if (!error)
        return w;
    snprintf(err, cap, "no thread can be started: %s", strerror(error));
    release(w);
    return NULL;
}

void worker_close(struct worker *w)
{
    if (!w)
        return;
    pthread_mutex_lock(&w->lock);
    w->closing = true;
    pthread_cond_signal(&w->commanded);
    pthread_mutex_unlock(&w->lock);
    worker_stop(w);
    pthread_join(w->thread, NULL);
    release(w);
}

void worker_generate(struct worker *w, const struct worker_job *job)
{
    give(w, COMMAND_GENERATE, job_copy(job), NULL);
}

void worker_compact(struct worker *w, const struct worker_job *job)
{
    struct job *copy = job_copy(job);
    copy->answer = 0;
    give(w, COMMAND_COMPACT, copy, NULL);
}

void worker_prepare(struct worker *w, const struct worker_job *job, bool rests)
{
    struct job *copy = job_copy(job);
    copy->guess = true;
    copy->rests = rests;
    give(w, COMMAND_PREPARE, copy, NULL);
}

void worker_load(struct worker *w, const char *model_path)
{
    give(w, COMMAND_LOAD, NULL, model_path);
}

void worker_stop(struct worker *w)
{
    pthread_mutex_lock(&w->lock);
    w->stops++;
    if (w->running && w->running->type != COMMAND_LOAD && w->session)
        engine_session_cancel(w->session, true);
    pthread_mutex_unlock(&w->lock);
}

void worker_set_sampling(struct worker *w, const struct engine_sampling *sampling)
{
    pthread_mutex_lock(&w->lock);
    w->sampling = *sampling;
    w->sampling_given = true;
    pthread_mutex_unlock(&w->lock);
}

void worker_set_threads(struct worker *w, int threads)
{
    atomic_store(&w->threads, threads);
}

static struct worker_event *take_locked(struct worker *w)
{
    struct queued_event *e = w->events;
    if (!e)
        return NULL;
    w->events = e->next;
    if (!w->events)
        w->last_event = NULL;
    return &e->event;
}

struct worker_event *worker_take(struct worker *w)
{
    pthread_mutex_lock(&w->lock);
    struct worker_event *e = take_locked(w);
    pthread_mutex_unlock(&w->lock);
    return e;
}

struct worker_event *worker_wait(struct worker *w, int timeout_ms)
{
    double deadline = clock_ms() + timeout_ms;
    pthread_mutex_lock(&w->lock);
    struct worker_event *e;
    bool more_time = true;
    while (!(e = take_locked(w)) && more_time) {
        if (timeout_ms < 0)
            pthread_cond_wait(&w->happened, &w->lock);
        else
            more_time = cond_wait_until(&w->happened, &w->lock, deadline);
    }
    pthread_mutex_unlock(&w->lock);
    return e;
}

void worker_event_free(struct worker_event *e)
{
    if (!e)
        return;
    free(e->text);
    free(e);
}
