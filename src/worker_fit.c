/* worker_fit.c - the prompt of an answer is made to fit the window. See worker_state.h.
 *
 * First the oldest turns become summaries, as often as it takes; what is then still too much is the last message, which
 * is cut in its middle. */
#include "worker.h"

#include "base/mem.h"
#include "worker_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TRIES = 8,  /* cuts of one message; each aims below the room, so more than two are rare */
    SLACK = 64, /* tokens an estimate may be too high by */
};

/* What stands for the message from now on: its text cut in the middle, without earlier messages that were not
 * answered. Where one of those was too long, leaving it out is enough. */
static void cut_message(struct worker *w, const struct job *job, const struct job_message *m, int max)
{
    char *cut = worker_cut_to(w, m->text + m->own, m->len - m->own, max);
    const char *what =
        cut ? "The message is too long for the window of %d tokens: the model sees its beginning and its end."
            : "An earlier message that was not answered is too long for the window of %d tokens: the "
              "model does not see it.";
    if (!cut && !m->own)
        return;
    if (!cut)
        cut = mem_copy(m->text + m->own, m->len - m->own);
    struct remembered *r = recall_message(w->recall, m->id, m->text, m->len);
    bool again = r->cut != NULL;
    recall_set_cut(r, cut, worker_count(w, cut, strlen(cut)));
    if (again)
        return;
    char text[200];
    snprintf(text, sizeof text, what, engine_session_n_ctx(w->session));
    worker_notice(w, job, text);
}

/* Renders the prompt; where it cannot fit, only estimates its length. */
static enum fit render_or_estimate(struct worker *w, const struct job *job, struct engine_tokens *out, int *n,
                                   char *err, size_t cap)
{
    if (!worker_estimate(w, job, worker_job_tail(job), n))
        return FIT_INTERRUPTED;
    if (*n > engine_session_n_ctx(w->session) + SLACK)
        return FIT_OK;
    if (!worker_render(w, job, worker_job_tail(job), NULL, true, out, err, cap))
        return FIT_FAILED;
    *n = (int)out->n;
    return FIT_OK;
}

/* Renders the prompt of n tokens again, with the last message cut until it has room: nothing else is left to cut. */
static enum fit cut_last_message(struct worker *w, const struct job *job, struct engine_tokens *out, int n, char *err,
                                 size_t cap)
{
    const struct job_message *m = &job->messages[job->n_messages - 1];
    int n_ctx = engine_session_n_ctx(w->session), room = worker_prompt_room(w, job);
    for (int i = 0; i < TRIES && n > room; i++) {
        int max = worker_known(w, m)->n_tokens - (n - room);
        if (worker_interrupted(w))
            return FIT_INTERRUPTED;
        if (max < n_ctx / 16)
            break;
        cut_message(w, job, m, max);
        if (!worker_render(w, job, worker_job_tail(job), NULL, true, out, err, cap))
            return FIT_FAILED;
        n = (int)out->n;
    }
    if (n <= room)
        return FIT_OK;
    snprintf(err, cap, "The window of %d tokens is too small for this conversation.", n_ctx);
    return FIT_FAILED;
}

enum fit worker_fit(struct worker *w, struct job *job, struct engine_tokens *out, char *err, size_t cap)
{
    if (!job->n_messages || job->messages[job->n_messages - 1].role != ENGINE_USER) {
        snprintf(err, cap, "There is no message to answer.");
        return FIT_FAILED;
    }
    worker_freshen(w, job);
    for (;;) {
        int n;
        enum fit fit = render_or_estimate(w, job, out, &n, err, cap);
        if (fit == FIT_OK && worker_interrupted(w))
            fit = FIT_INTERRUPTED;
        if (fit != FIT_OK)
            return fit;
        size_t cover = worker_plan(w, job, (size_t)n, false);
        if (!cover)
            return cut_last_message(w, job, out, n, err, cap);
        if (!worker_summarize(w, job, cover, false))
            return FIT_INTERRUPTED;
    }
}
