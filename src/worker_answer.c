/* worker_answer.c - a job to generate: its prompt is evaluated, tokens are sampled, pieces go out. See worker.h. */
#include "worker.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/mem.h"
#include "repetition.h"
#include "worker_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOOK_EVERY = 32 }; /* tokens between two checks for a loop */

struct answer { /* being written */
    struct worker *w;
    struct job *job;
    size_t n_prompt;
    struct engine_stream stream;
    struct buffer raw;        /* all that was sampled, as text */
    struct buffer text;       /* the part of it that belongs to the answer (engine_answer_span): shown and stored */
    bool turned;              /* the model has begun the next turn: raw and ids hold more than the answer */
    struct engine_tokens ids; /* all that were sampled */
    size_t n_whole;           /* of these, the ones whose text is whole: what the next prompt repeats */
};

/* The engine's figures; the time to the first token is the person's, who does not care what it was spent on. */
static struct engine_stats stats_of(const struct worker *w, const struct job *job)
{
    struct engine_stats stats = engine_session_stats(w->session);
    if (stats.first_token_ms > 0)
        stats.first_token_ms += job->waited_ms;
    return stats;
}

static void emit_progress(struct answer *a, float progress, bool always)
{
    if (!worker_progress_due(a->w, always))
        return;
    struct queued_event *e = worker_event_new(WORKER_STARTED, a->job);
    e->event.progress = progress;
    e->event.stats = stats_of(a->w, a->job);
    e->event.stats.prompt_tokens = (int)a->n_prompt;
    worker_emit(a->w, e);
}

static void on_progress(void *ctx, size_t done, size_t total)
{
    emit_progress(ctx, total ? (float)done / (float)total : 1, done == total);
}

/* Sends out what has become certain of the answer's text; `whole`: no more will be sampled. */
static void show_text(struct answer *a, bool whole)
{
    struct engine_answer_span span = engine_answer_span(a->w->model, a->raw.s, a->raw.len, whole);
    a->turned = span.ended;
    if (span.start + a->text.len >= span.end)
        return;
    const char *piece = a->raw.s + span.start + a->text.len;
    size_t n = span.end - span.start - a->text.len;
    buffer_add(&a->text, piece, n);
    struct queued_event *e = worker_event_new(WORKER_PIECE, a->job);
    e->event.text = mem_copy(piece, n);
    e->event.stats = stats_of(a->w, a->job);
    worker_emit(a->w, e);
}

static void add_text(struct answer *a, const char *piece, size_t n)
{
    n = strnlen(piece, n); /* a NUL ends a text everywhere else in the program */
    if (!n)
        return;
    buffer_add(&a->raw, piece, n);
    show_text(a, false);
}

static void add_token(struct answer *a, int32_t id)
{
    char piece[ENGINE_PIECE_MAX];
    engine_tokens_push(&a->ids, id);
    size_t n = engine_stream_push(&a->stream, a->w->model, id, piece, sizeof piece);
    if (!a->stream.n_held)
        a->n_whole = a->ids.n;
    else if (n) /* what was held before has come to nothing; this token's bytes are held now */
        a->n_whole = a->ids.n - 1;
    add_text(a, piece, n);
}

/* The model ended here, in the middle of a character or not: that is all of the answer. One that was cut off, by the
 * person or for its length, goes without the character it was at. */
static void end_text(struct answer *a)
{
    char piece[ENGINE_PIECE_MAX];
    size_t n = engine_stream_end(&a->stream, piece, sizeof piece);
    a->n_whole = a->ids.n;
    add_text(a, piece, n);
}

/* Whether it is time to check for a loop, and the answer is in one. */
static bool is_in_a_loop(const struct answer *a)
{
    const struct job *job = a->job;
    if (!job->stop_loops || !a->text.len || a->ids.n % LOOK_EVERY)
        return false;
    return repetition_found(a->text.s, a->text.len, job->messages[job->n_messages - 1].text);
}

/* How the sampling ended; err for WORKER_END_FAILED. */
static enum worker_end write_answer(struct answer *a, char *err, size_t cap)
{
    for (;;) {
        if (a->job->max_tokens > 0 && a->ids.n >= (size_t)a->job->max_tokens)
            return WORKER_END_LENGTH;
        worker_apply_settings(a->w);
        struct engine_sampling sampling = worker_sampling(a->w);
        int32_t id = -1;
        switch (engine_session_next(a->w->session, &sampling, &id, err, cap)) {
        case ENGINE_OK:
            add_token(a, id);
            if (a->turned)
                return WORKER_END_COMPLETE;
            if (is_in_a_loop(a))
                return WORKER_END_LOOP;
            break;
        case ENGINE_END: end_text(a); return WORKER_END_COMPLETE;
        case ENGINE_FULL: return WORKER_END_LENGTH;
        case ENGINE_CANCELLED: return WORKER_END_STOPPED;
        case ENGINE_ERROR: return WORKER_END_FAILED;
        }
    }
}

static enum worker_end evaluate_and_write(struct answer *a, char *err, size_t cap)
{
    struct engine_tokens prompt = {0};
    enum worker_end end = WORKER_END_FAILED;
    switch (worker_fit(a->w, a->job, &prompt, err, cap)) {
    case FIT_FAILED: break;
    case FIT_INTERRUPTED: end = WORKER_END_STOPPED; break;
    case FIT_OK:
        a->n_prompt = prompt.n;
        worker_apply_settings(a->w);
        worker_seed_answer(a->w, a->job);
        emit_progress(a, 0, true);
        a->job->waited_ms = clock_ms() - a->job->given_ms;
        switch (engine_session_prompt(a->w->session, prompt.ids, prompt.n, on_progress, a, err, cap)) {
        case ENGINE_OK:
            add_text(a, engine_answer_start(a->w->model), strlen(engine_answer_start(a->w->model)));
            end = write_answer(a, err, cap);
            break;
        case ENGINE_CANCELLED: end = WORKER_END_STOPPED; break;
        case ENGINE_FULL:
            snprintf(err, cap, "The prompt of %zu tokens does not fit into the window.", prompt.n);
            break;
        case ENGINE_END:
        case ENGINE_ERROR: break;
        }
    }
    engine_tokens_free(&prompt);
    return end;
}

/* What was thought before an answer is in no later prompt: the answer behind it has to be evaluated anew anyway. */
static void remember(struct answer *a)
{
    struct engine_thought thought = {0};
    engine_thought_read(&thought, a->text.s, a->text.len, true);
    if (!a->n_whole || a->turned || thought.state != ENGINE_THOUGHT_NONE)
        return;
    struct remembered *r = recall_message(a->w->recall, a->job->answer, a->text.s, a->text.len);
    recall_set_ids(r, a->ids.ids, a->n_whole);
}

void worker_answer_ended(struct worker *w, const struct job *job, enum worker_end end, const char *text)
{
    struct queued_event *e = worker_event_new(WORKER_DONE, job);
    e->event.end = end;
    e->event.text = mem_string(text);
    /* Before its prompt was begun the engine's figures are another's. */
    if (w->session && end != WORKER_END_FAILED && (job->waited_ms > 0 || !job->answer))
        e->event.stats = stats_of(w, job);
    worker_emit(w, e);
}

void worker_answer(struct worker *w, struct job *job)
{
    char err[512] = "";
    struct answer a = {.w = w, .job = job, .raw = BUFFER_INIT, .text = BUFFER_INIT};
    recall_trim(w->recall);
    enum worker_end end = evaluate_and_write(&a, err, sizeof err);
    show_text(&a, true);
    remember(&a);
    worker_answer_ended(w, job, end, end == WORKER_END_FAILED ? err : a.text.s);
    engine_tokens_free(&a.ids);
    buffer_free(&a.raw);
    buffer_free(&a.text);
}
