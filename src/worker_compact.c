/* worker_compact.c - a conversation's oldest turns become a summary. See worker_state.h.
 *
 * The model is asked by continuing the context it has: in idle time after the whole conversation, so that giving up
 * costs no more than the request's own tokens; when an answer is waited for, after the turns to be covered, which
 * leaves room. Its text is checked, and where it fails, or there is no room to ask, an extract takes its place. */
#include "worker.h"

#include "base/buffer.h"
#include "base/mem.h"
#include "summary.h"
#include "summary_text.h"
#include "worker_state.h"

#include <stdlib.h>
#include <string.h>

enum {
    LOOK_EVERY = 16, /* tokens between two looks for a loop */
    TRIES = 8,
};

/* Greedy, so that the same conversation is summed up alike; the penalty is what the smallest models need (llama.cpp's
 * default strength for them, over what is being written). */
static const struct engine_sampling careful = {.top_p = 1, .repeat_penalty = 1.1f, .repeat_last_n = 64};

struct turns { /* the messages a summary is made of, as the model sees them */
    struct summary_turn *list;
    size_t n;
    char **cut; /* of each message that is too large, the text that is left; else NULL */
};

static struct turns turns_of(struct worker *w, const struct job *job, size_t n)
{
    struct turns turns = {mem_new(n, sizeof *turns.list), n, mem_new(n, sizeof *turns.cut)};
    for (size_t i = 0; i < n; i++) {
        const struct job_message *m = &job->messages[job->covered + i];
        turns.cut[i] = worker_cut_huge(w, m->text, m->len);
        const char *text = turns.cut[i] ? turns.cut[i] : m->text;
        turns.list[i] =
            (struct summary_turn){m->role == ENGINE_ASSISTANT, text, turns.cut[i] ? strlen(text) : m->len};
    }
    return turns;
}

static void turns_free(struct turns *turns)
{
    for (size_t i = 0; i < turns->n; i++)
        free(turns->cut[i]);
    free(turns->cut);
    free(turns->list);
}

/* Reads the model's text, at most max tokens of it. False: interrupted or failed. A text that was cut off, or went
 * into a loop, is given as far as it goes: the check is for others to make. */
static bool read_summary(struct worker *w, int max, struct buffer *out)
{
    struct engine_stream stream = {0};
    char err[256], piece[ENGINE_PIECE_MAX];
    buffer_puts(out, engine_answer_start(w->model));
    for (int i = 0; i < max; i++) {
        int32_t id;
        enum engine_status status = engine_session_next(w->session, &careful, &id, err, sizeof err);
        if (status == ENGINE_END || status == ENGINE_FULL)
            return true;
        if (status != ENGINE_OK)
            return false;
        size_t n = engine_stream_push(&stream, w->model, id, piece, sizeof piece);
        buffer_add(out, piece, strnlen(piece, n));
        if (engine_answer_span(w->model, out->s ? out->s : "", out->len, false).ended)
            return true;
        if (i % LOOK_EVERY == LOOK_EVERY - 1 && out->len && summary_loops(out->s, out->len))
            return true;
    }
    struct slice rest = {out->s ? out->s : "", out->len}, sentence; /* cut off: without the sentence it was at */
    size_t whole = 0;
    while (next_sentence(&rest, &sentence))
        if (rest.len)
            whole = out->len - rest.len;
    if (whole)
        buffer_truncate(out, whole);
    return true;
}

/* The prompt that asks for a summary of the first n messages: false where there is no room for it and an answer. */
static bool render_request(struct worker *w, const struct job *job, size_t n, const char *request,
                           struct engine_tokens *out)
{
    char err[256];
    int room = engine_session_n_ctx(w->session) - worker_summary_max(w);
    int estimate;
    return worker_estimate(w, job, n, &estimate) && estimate <= room &&
           worker_render(w, job, n, request, true, out, err, sizeof err) && (int)out->n <= room;
}

static void keep_range(struct buffer *text, size_t start, size_t end)
{
    char *kept = mem_copy(text->s ? text->s + start : "", end - start);
    buffer_truncate(text, 0);
    buffer_puts(text, kept);
    free(kept);
}

/* Drops a <think> block that the model wrote despite the switch, and what follows the end of its turn. */
static void keep_answer(const struct worker *w, struct buffer *text)
{
    struct engine_answer_span span = engine_answer_span(w->model, text->s ? text->s : "", text->len, true);
    struct engine_thought t = {0};
    keep_range(text, span.start, span.end);
    engine_thought_read(&t, text->s ? text->s : "", text->len, true);
    if (t.answer)
        keep_range(text, t.answer, text->len);
}

/* The text that the model wrote as a summary of the first `seen` messages, without chatter, or NULL where it fails the
 * check. */
static char *checked_summary(const struct worker *w, const struct job *job, const struct turns *turns, size_t seen,
                             struct buffer *text)
{
    char reason[256];
    keep_answer(w, text);
    char *summary = summary_drop_chatter(text->s, job->summary, turns->list, seen);
    if (summary_check(summary, job->summary, turns->list, seen, reason, sizeof reason))
        return summary;
    free(summary);
    return NULL;
}

/* The model's own summary of the first `cover` messages, or NULL: interrupted, no room, or not to be trusted. */
static char *ask_model(struct worker *w, const struct job *job, size_t cover, bool idle)
{
    size_t seen = idle ? worker_job_tail(job) : cover;
    struct turns turns = turns_of(w, job, worker_job_tail(job));
    const char *request = summary_request(turns.list, seen);
    struct engine_tokens prompt = {0};
    struct buffer text = BUFFER_INIT;
    char err[256], *summary = NULL;
    bool room = render_request(w, job, seen, request, &prompt);
    if (!room && seen > cover) {
        seen = cover;
        room = render_request(w, job, seen, request, &prompt);
    }
    if (room && engine_session_prompt(w->session, prompt.ids, prompt.n, NULL, NULL, err, sizeof err) == ENGINE_OK &&
        read_summary(w, worker_summary_max(w), &text))
        summary = checked_summary(w, job, &turns, seen, &text);
    buffer_free(&text);
    engine_tokens_free(&prompt);
    turns_free(&turns);
    return summary;
}

static bool stop(void *w)
{
    return worker_interrupted(w);
}

/* The summary's text within its room: the model's with the facts and topics it lost, or an extract. NULL:
 * interrupted. */
static char *compose(struct worker *w, const struct job *job, size_t cover, const char *model_text)
{
    struct turns turns = turns_of(w, job, cover);
    struct summary_source *source = summary_source_new(job->summary, turns.list, cover, stop, w);
    int max = worker_summary_max(w);
    size_t bytes = (size_t)max * 5; /* more than text has on average: shortened until its tokens fit */
    char *text = NULL;
    for (int i = 0, n = 0; source && i < TRIES; i++) {
        free(text);
        text = model_text ? summary_complete(source, model_text, bytes) : summary_extract(source, bytes);
        size_t len = strlen(text);
        n = worker_count(w, text, len);
        if (n <= max)
            break;
        bytes = (size_t)((double)len * max / n * 0.97);
    }
    summary_source_free(source);
    turns_free(&turns);
    return text;
}

static void emit_summary(struct worker *w, const struct job *job, size_t cover, const char *method)
{
    struct queued_event *e = worker_event_new(WORKER_SUMMARY, job);
    e->event.first = job->messages[job->covered - cover].id;
    e->event.last = job->messages[job->covered - 1].id;
    e->event.text = mem_string(job->summary);
    e->event.method = method;
    worker_emit(w, e);
}

bool worker_summarize(struct worker *w, struct job *job, size_t cover, bool idle)
{
    worker_emit(w, worker_event_new(WORKER_COMPACTING, job));
    char *model_text = ask_model(w, job, cover, idle);
    char *text = worker_interrupted(w) ? NULL : compose(w, job, cover, model_text);
    if (!text) {
        free(model_text);
        return false;
    }
    free(job->summary);
    job->summary = text;
    job->covered += cover;
    recall_set_summary(w->recall, job->conversation, job->messages[job->covered - 1].id, text);
    emit_summary(w, job, cover, model_text ? "model" : "extract");
    free(model_text);
    return true;
}

/* How many messages are to be summarized now, 0 = none, or interrupted. prompt gets the job's tokens where they fit. */
static size_t messages_to_cover(struct worker *w, const struct job *job, struct engine_tokens *prompt)
{
    char err[256];
    int n;
    prompt->n = 0;
    if (worker_interrupted(w) || !worker_estimate(w, job, worker_job_tail(job), &n))
        return 0;
    if (n <= engine_session_n_ctx(w->session)) {
        if (!worker_render(w, job, worker_job_tail(job), NULL, false, prompt, err, sizeof err))
            return 0;
        n = (int)prompt->n;
    }
    return worker_plan(w, job, (size_t)n, true);
}

void worker_compact_idle(struct worker *w, struct job *job)
{
    char err[256];
    struct engine_tokens prompt = {0};
    if (!job->n_messages)
        return;
    worker_freshen(w, job);
    bool begun = false;
    enum worker_end end = WORKER_END_COMPLETE;
    for (size_t cover; end == WORKER_END_COMPLETE && (cover = messages_to_cover(w, job, &prompt));) {
        begun = true;
        if (!worker_summarize(w, job, cover, true))
            end = WORKER_END_STOPPED;
    }
    /* The next prompt begins with these: evaluated now, the next answer need not wait for them. */
    if (begun && end == WORKER_END_COMPLETE && prompt.n && (int)prompt.n < engine_session_n_ctx(w->session))
        engine_session_prompt(w->session, prompt.ids, prompt.n, NULL, NULL, err, sizeof err);
    if (begun)
        worker_answer_ended(w, job, end, "");
    engine_tokens_free(&prompt);
}
