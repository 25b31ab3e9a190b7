/* worker_prompt.c - a job as tokens: rendered, counted, and made to fit the window. See worker_state.h.
 *
 * The summary stands in front of the person's first message that is still there: that works with every template,
 * leaves the model's default system prompt alone, and "my name is Dana" stays the person's word. Nothing in front of
 * the new message depends on it, so between two compactions each prompt extends the one before. */
#include "worker.h"

#include "base/buffer.h"
#include "base/mem.h"
#include "summary.h"
#include "window.h"
#include "worker_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    /* More than text has: what is longer than so many per token of the window is cut uncounted. */
    BYTES_PER_TOKEN = 32,
    FRAME = 64, /* tokens of a default system prompt, a summary's frame, an answer's header: an estimate */
    TRIES = 8,  /* cuts of one text; each aims below the room, so more than two are rare */
};

/* ---- counting ---- */

int worker_count(struct worker *w, const char *text, size_t len)
{
    struct engine_tokens ids = {0};
    engine_tokenize(w->model, text, len, false, &ids);
    int n = (int)ids.n;
    engine_tokens_free(&ids);
    return n;
}

static int rendered_tokens(struct worker *w, const struct engine_message *messages, size_t n)
{
    char err[256];
    struct engine_tokens ids = {0};
    bool ok = engine_render_chat(w->model, messages, n, false, &ids, err, sizeof err);
    int count = ok ? (int)ids.n : -1;
    engine_tokens_free(&ids);
    return count;
}

void worker_learn_template(struct worker *w)
{
    struct engine_message messages[] = {{.role = ENGINE_USER, .text = "a", .len = 1},
                                        {.role = ENGINE_ASSISTANT, .text = "a", .len = 1},
                                        {.role = ENGINE_USER, .text = "a", .len = 1}};
    int one = rendered_tokens(w, messages, 1), three = rendered_tokens(w, messages, 3);
    w->message_overhead = one > 0 && three > one ? (three - one + 1) / 2 - worker_count(w, "a", 1) : 8;
}

static int window_tokens(const struct worker *w)
{
    return engine_session_n_ctx(w->session);
}

/* Whether a text is longer than any that the window can hold. Such a text is not tokenized: that takes longer than a
 * stop may. */
static bool is_huge(const struct worker *w, size_t len)
{
    return len > (size_t)window_tokens(w) * BYTES_PER_TOKEN;
}

char *worker_cut_huge(const struct worker *w, const char *text, size_t len)
{
    return is_huge(w, len) ? window_cut_middle(text, len, (size_t)window_tokens(w) * BYTES_PER_TOKEN) : NULL;
}

const struct remembered *worker_known(struct worker *w, const struct job_message *m)
{
    struct remembered *r = recall_message(w->recall, m->id, m->text, m->len);
    if (r->n_tokens < 0)
        recall_set_count(r, is_huge(w, m->len) ? window_tokens(w) : worker_count(w, m->text, m->len));
    return r;
}

size_t worker_job_tail(const struct job *job)
{
    return job->n_messages - job->covered;
}

static struct job_message *tail_message(const struct job *job, size_t i)
{
    return &job->messages[job->covered + i];
}

int worker_summary_max(const struct worker *w)
{
    int max = window_tokens(w) / 8;
    return max < 16 ? 16 : max > 256 ? 256 : max;
}

/* Room kept for the answer: what the hard limit leaves, or less where less is asked for. */
static int answer_room(const struct worker *w, const struct job *job)
{
    int room = (int)(window_tokens(w) * (1 - WINDOW_HARD));
    return job->max_tokens > 0 && job->max_tokens < room ? job->max_tokens : room;
}

int worker_prompt_room(const struct worker *w, const struct job *job)
{
    return window_tokens(w) - answer_room(w, job);
}

bool worker_estimate(struct worker *w, const struct job *job, size_t n, int *tokens)
{
    int sum = FRAME + w->message_overhead * (int)(n + 1);
    sum += job->system ? worker_count(w, job->system, strlen(job->system)) : 0;
    sum += job->summary ? worker_count(w, job->summary, strlen(job->summary)) : 0;
    for (size_t i = 0; i < n; i++) {
        if (worker_interrupted(w))
            return false;
        sum += worker_known(w, tail_message(job, i))->n_tokens;
    }
    *tokens = sum;
    return true;
}

/* ---- rendering ---- */

struct rendering {
    struct engine_message *messages;
    size_t n;
    char *first; /* the text of the message the summary stands in, or NULL */
};

/* Puts the summary in front of a message's text, or makes a message of it. */
static void add_summary(struct rendering *r, const struct job *job, const char *text, size_t len)
{
    struct buffer b = BUFFER_INIT;
    char *wrapped = summary_wrap(job->summary);
    buffer_puts(&b, wrapped);
    free(wrapped);
    if (len)
        buffer_puts(&b, "\n\n");
    buffer_add(&b, text, len);
    r->messages[r->n++] = (struct engine_message){.role = ENGINE_USER, .text = b.s, .len = b.len};
    r->first = buffer_take(&b);
}

/* The texts and ids given to the template are not copied: nothing is cut or forgotten while a prompt is rendered. */
static void add_message(struct worker *w, struct rendering *r, const struct job *job, const struct job_message *m)
{
    const struct remembered *known_as = recall_message(w->recall, m->id, m->text, m->len);
    const char *text = known_as->cut ? known_as->cut : m->text;
    size_t len = known_as->cut ? strlen(known_as->cut) : m->len;
    bool carries = job->summary && !r->first;
    if (m->role == ENGINE_ASSISTANT &&
        !len) /* stopped before its first word: it would teach the model to say nothing */
        return;
    if (carries && m->role == ENGINE_USER) {
        add_summary(r, job, text, len);
        return;
    }
    if (carries)
        add_summary(r, job, "", 0);
    r->messages[r->n] = (struct engine_message){.role = m->role, .text = text, .len = len};
    if (m->role == ENGINE_ASSISTANT && !known_as->cut) {
        r->messages[r->n].ids = known_as->ids;
        r->messages[r->n].n_ids = known_as->n_ids;
    }
    r->n++;
}

bool worker_render(struct worker *w, const struct job *job, size_t n, const char *request, bool generate,
                   struct engine_tokens *out, char *err, size_t cap)
{
    struct rendering r = {.messages = mem_new(n + 3, sizeof *r.messages)};
    out->n = 0;
    if (job->system)
        r.messages[r.n++] =
            (struct engine_message){.role = ENGINE_SYSTEM, .text = job->system, .len = strlen(job->system)};
    for (size_t i = 0; i < n; i++)
        add_message(w, &r, job, tail_message(job, i));
    if (request)
        r.messages[r.n++] = (struct engine_message){.role = ENGINE_USER, .text = request, .len = strlen(request)};
    bool ok = engine_render_chat(w->model, r.messages, r.n, generate, out, err, cap);
    if (ok && generate && (job->skip_thought || request))
        engine_skip_thought(w->model, out);
    free(r.messages);
    free(r.first);
    return ok;
}

/* ---- the plan ---- */

size_t worker_plan(struct worker *w, const struct job *job, size_t rendered, bool idle)
{
    size_t n = worker_job_tail(job);
    int *tokens = mem_new(n, sizeof *tokens);
    bool *is_answer = mem_new(n, sizeof *is_answer);
    int sum = 0;
    for (size_t i = 0; i < n; i++) {
        const struct job_message *m = tail_message(job, i);
        tokens[i] = worker_known(w, m)->n_tokens + w->message_overhead;
        is_answer[i] = m->role == ENGINE_ASSISTANT;
        sum += tokens[i];
    }
    struct window_costs costs = {.n_ctx = window_tokens(w),
                                 .fixed =
                                     (int)rendered - sum, /* so that the plan's sum is the prompt's true length */
                                 .summary = job->summary ? worker_count(w, job->summary, strlen(job->summary)) : 0,
                                 .messages = tokens,
                                 .is_answer = is_answer,
                                 .n_messages = n,
                                 .reserve = answer_room(w, job),
                                 .summary_max = worker_summary_max(w)};
    struct window_plan plan = window_plan(&costs, idle);
    free(tokens);
    free(is_answer);
    return plan.action == WINDOW_COMPACT ? plan.cover : 0;
}

/* ---- what is too large by itself ---- */

char *worker_cut_to(struct worker *w, const char *text, size_t len, int max)
{
    char *cut = worker_cut_huge(w, text, len);
    size_t bytes = cut ? strlen(cut) : len;
    int n = worker_count(w, cut ? cut : text, bytes);
    for (int i = 0; i < TRIES && n > max; i++) {
        bytes = (size_t)((double)bytes * max / n * (i < TRIES - 1 ? 0.95 : 0.5));
        free(cut);
        cut = window_cut_middle(text, len, bytes);
        bytes = strlen(cut);
        n = worker_count(w, cut, bytes);
    }
    return cut;
}

static void cut_system(struct worker *w, struct job *job)
{
    char *cut = job->system ? worker_cut_to(w, job->system, strlen(job->system), window_tokens(w) / 3) : NULL;
    if (!cut)
        return;
    free(job->system);
    job->system = cut;
    if (job->guess || w->noticed_system == job->conversation)
        return;
    w->noticed_system = job->conversation;
    worker_notice(
        w, job, "The system prompt takes more than a third of the window: the model sees its beginning and its end.");
}

/* A summary made for a larger window, or by another program. */
static void cut_summary(struct worker *w, struct job *job)
{
    int max = worker_summary_max(w);
    for (int i = 0, n; i < TRIES && job->summary; i++) {
        size_t len = strlen(job->summary);
        if ((n = worker_count(w, job->summary, len)) <= max)
            return;
        struct summary_source *source = summary_source_new(job->summary, NULL, 0, NULL, NULL);
        char *shorter = summary_extract(source, (size_t)((double)len * max / n * 0.95));
        summary_source_free(source);
        free(job->summary);
        job->summary = shorter;
    }
}

/* A job queued before the newest summary was made brings messages that it covers. */
static void take_newest_summary(struct worker *w, struct job *job)
{
    int64_t last;
    const char *summary = recall_summary(w->recall, job->conversation, &last);
    for (size_t i = 0; summary && i + 1 < job->n_messages; i++) {
        if (job->messages[i].id != last)
            continue;
        job->covered = i + 1;
        free(job->summary);
        job->summary = mem_string(summary);
    }
}

void worker_freshen(struct worker *w, struct job *job)
{
    take_newest_summary(w, job);
    if (job->summary && !job->summary[strspn(job->summary, " \n\t")]) {
        free(job->summary);
        job->summary = NULL;
    }
    cut_summary(w, job);
    cut_system(w, job);
}
