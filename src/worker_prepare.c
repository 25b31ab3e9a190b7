/* worker_prepare.c - a job that may come is read ahead, while the person types. See worker.h and worker_state.h.
 *
 * First what the next keys cannot change is evaluated: the beginning that two prompts have in common, one with a
 * letter more at the draft's end and one without the draft's last word. That leaves out what the template puts after
 * the message, and tokens that a longer word would merge with. Where the typing rests, those follow. It is a guess
 * and no more: engine_session_prompt keeps of the cache what the prompt begins with, whatever the guess was.
 */
#include "worker.h"

#include "base/clock.h"
#include "base/mem.h"
#include "worker_state.h"

#include <string.h>

enum {
    /* Bytes at the end that may still merge, where no space ends a word: four characters of Chinese. */
    HELD_BACK = 12,
    /* Most bytes of a draft with an attention window: a cache that is a ring can go back less than a chunk. */
    RING_DRAFT = 192,
    /* Tokens evaluated between two looks for a newer guess; what is cancelled within a slice is lost. */
    SLICE_FIRST = 32,
    SLICE_LEAST = 8,
    SLICE_MOST = 256,
    SLICE_MS = 30, /* as long as a slice should take: not seen by a person who presses Enter */
};

static bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

/* The length of a draft without the word being written: text ends a word only where a space follows. */
static size_t stable_length(const char *text, size_t len)
{
    size_t word = len, held = len > HELD_BACK ? len - HELD_BACK : 0;
    while (word && !is_space(text[word - 1]))
        word--;
    while (word && is_space(text[word - 1]))
        word--;
    while (held && ((unsigned char)text[held] & 0xc0) == 0x80)
        held--;
    return word > held ? word : held;
}

/* The length of a draft as it would be sent. */
static size_t sent_length(const char *text, size_t len)
{
    while (len && is_space(text[len - 1]))
        len--;
    return len;
}

/* The prompt of the job as if its last message were the first len bytes of its text, with one letter more or
 * without. */
static bool render(struct worker *w, struct job *job, size_t len, bool letter, struct engine_tokens *out)
{
    char err[256];
    struct job_message *m = &job->messages[job->n_messages - 1];
    m->text = mem_resize(m->text, len + 2, 1);
    strcpy(m->text + len, letter ? "a" : "");
    m->len = len + letter;
    return worker_render(w, job, worker_job_tail(job), NULL, true, out, err, sizeof err);
}

static size_t common_length(const int32_t *a, size_t n_a, const int32_t *b, size_t n_b)
{
    size_t n = 0;
    while (n < n_a && n < n_b && a[n] == b[n])
        n++;
    return n;
}

struct foreseen {
    struct engine_tokens sure;  /* what the prompt begins with, whatever is typed next */
    struct engine_tokens whole; /* the prompt, if the draft is sent as it is */
};

/* False: nothing is known of it, for the window must be made, or the message cut, first. */
static bool foresee(struct worker *w, struct job *job, struct foreseen *f)
{
    struct engine_tokens shorter = {0};
    const struct job_message *m = &job->messages[job->n_messages - 1];
    size_t len = m->len, sent = sent_length(m->text, len),
           stable = stable_length(m->text, sent < len ? sent + 1 : len);
    bool far = w->options.attn_window > 0 && len > RING_DRAFT;
    if (far)
        stable = stable_length(m->text, RING_DRAFT);
    /* Each rendering leaves less of the text. */
    int estimate;
    bool ok = worker_estimate(w, job, worker_job_tail(job), &estimate) &&
              estimate <= engine_session_n_ctx(w->session) && render(w, job, len, true, &f->sure) &&
              (int)f->sure.n <= worker_prompt_room(w, job) && !worker_plan(w, job, f->sure.n, false);
    if (ok && job->rests && sent && !far)
        ok = render(w, job, sent, false, &f->whole);
    if (ok)
        ok = render(w, job, stable, false, &shorter);
    if (ok)
        f->sure.n = common_length(f->sure.ids, f->sure.n, shorter.ids, shorter.n);
    engine_tokens_free(&shorter);
    return ok;
}

static size_t next_slice(size_t slice, double took_ms)
{
    if (took_ms > SLICE_MS)
        return slice / 2 > SLICE_LEAST ? slice / 2 : SLICE_LEAST;
    if (took_ms < SLICE_MS / 2.0 && slice < SLICE_MOST)
        return slice * 2;
    return slice;
}

/* What the cache holds of it is left as it is, also what follows there: the person may take back what was deleted. */
static void evaluate(struct worker *w, const int32_t *ids, size_t n)
{
    char err[256];
    size_t held, slice = SLICE_FIRST;
    const int32_t *context = engine_session_tokens(w->session, &held);
    size_t done = common_length(ids, n, context, held);
    while (done < n && !worker_interrupted(w)) {
        size_t to = n - done < slice ? n : done + slice;
        double start = clock_ms();
        if (engine_session_prompt(w->session, ids, to, NULL, NULL, err, sizeof err) != ENGINE_OK)
            return;
        slice = next_slice(slice, clock_ms() - start);
        done = to;
    }
}

void worker_read_ahead(struct worker *w, struct job *job)
{
    struct foreseen f = {0};
    if (!job->n_messages || job->messages[job->n_messages - 1].role != ENGINE_USER)
        return;
    worker_take_threads(w);
    worker_freshen(w, job);
    if (foresee(w, job, &f)) {
        evaluate(w, f.sure.ids, f.sure.n);
        evaluate(w, f.whole.ids, f.whole.n);
    }
    engine_tokens_free(&f.sure);
    engine_tokens_free(&f.whole);
}
