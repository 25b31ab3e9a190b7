/*
 * worker_state.h - what the files worker*.c share. Private to them.
 *
 *   worker.c          the thread, its two queues, loading a model
 *   worker_answer.c   a job to generate: prompt, tokens, pieces
 *   worker_prompt.c   a job as tokens: rendering, counting, cutting what is too large
 *   worker_compact.c  a job's oldest turns become a summary
 *   worker_fit.c      the prompt of an answer fits the window: summaries first, then the last message is cut
 *   worker_prepare.c  a job that may come is read ahead
 *   worker_recall.c   what is known by heart of messages and conversations
 */
#ifndef WORKER_STATE_H
#define WORKER_STATE_H

#include "worker.h"
#include "worker_recall.h"

#include <pthread.h>
#include <stdatomic.h>

struct job_message {
    int64_t id;
    enum engine_role role;
    char *text;
    size_t len, own; /* own: see worker_message */
};

struct job { /* a copy of a worker_job that compaction changes */
    int64_t conversation, answer;
    char *system, *summary;       /* or NULL */
    struct job_message *messages; /* all that came; the first `covered` are in the summary */
    size_t n_messages, covered;
    int max_tokens;
    uint64_t draw;
    bool skip_thought, stop_loops;
    bool guess;       /* for worker_prepare: nothing is said about it */
    bool rests;       /* ... whose last message may be sent as it is */
    double given_ms;  /* clock_ms when the command came */
    double waited_ms; /* from then until the prompt was begun; 0 = not begun */
};

enum command_type { COMMAND_GENERATE, COMMAND_COMPACT, COMMAND_PREPARE, COMMAND_LOAD };

struct command {
    enum command_type type;
    struct job *job; /* all but to load */
    char *path;      /* to load */
    uint64_t stops;  /* worker.stops when it was given: it is stopped if that has grown since */
    struct command *next;
};

struct queued_event {
    struct worker_event event; /* first: the taker frees by this address */
    size_t cap;                /* bytes of event.text; pieces grow */
    struct queued_event *next;
};

struct worker {
    struct worker_options options; /* model_path NULL */
    void (*notify)(void *ctx);
    void *notify_ctx;
    pthread_t thread;

    pthread_mutex_t lock; /* guards all down to `sampling_given` */
    pthread_cond_t commanded, happened;
    struct command *commands, *last_command;
    struct command *guess; /* to prepare, when there is nothing else to do; or NULL */
    struct queued_event *events, *last_event;
    const struct command *running; /* what the thread is at, or NULL */
    uint64_t stops;                /* calls of worker_stop */
    bool closing;
    engine_session *session; /* NULL until a model is loaded; only the thread changes it, others cancel it */
    struct engine_sampling sampling;
    bool sampling_given; /* by worker_set_sampling: the file's defaults are no longer taken */

    atomic_int threads; /* wanted; 0 = default */

    /* The thread's own. */
    engine_model *model;
    int session_threads;     /* last set */
    uint64_t seed;           /* last used; 0 = random */
    uint64_t draw;           /* of the answer being written */
    int message_overhead;    /* tokens the template puts around a message */
    int64_t noticed_system;  /* conversation whose system prompt was last said to be cut */
    double last_progress_ms; /* clock_ms of the last event that only says how far something is */
    struct recall *recall;
};

/* ---- worker.c ---- */

struct queued_event *worker_event_new(enum worker_event_type type, const struct job *job); /* job may be NULL */
void worker_emit(struct worker *w, struct queued_event *e);                                /* takes e */
void worker_notice(struct worker *w, const struct job *job, const char *text);
bool worker_progress_due(struct worker *w, bool last); /* at most 20 events a second only show progress */

/* Whether the running command has been stopped, or, being one for idle time, another command has come. */
bool worker_interrupted(struct worker *w);
/* Applies a changed number of threads. */
void worker_take_threads(struct worker *w);
/* ... and a changed seed. */
void worker_apply_settings(struct worker *w);
void worker_seed_answer(struct worker *w, const struct job *job); /* before its first token */
struct engine_sampling worker_sampling(struct worker *w);         /* for the next token */

/* ---- worker_answer.c ---- */

void worker_answer(struct worker *w, struct job *job);
void worker_answer_ended(struct worker *w, const struct job *job, enum worker_end end, const char *text);

/* ---- worker_prompt.c ---- */

void worker_learn_template(struct worker *w); /* once per model */

/* Replaces *out by the tokens of [system][summary][first n messages after the covered ones][request], the request as a
 * person's message unless NULL. generate: then the header of the answer, and an empty thought if the job wants that or
 * there is a request. False and err where the template cannot hold the messages. */
bool worker_render(struct worker *w, const struct job *job, size_t n, const char *request, bool generate,
                   struct engine_tokens *out, char *err, size_t cap);
size_t worker_job_tail(const struct job *job); /* messages not covered */
int worker_count(struct worker *w, const char *text, size_t len);
int worker_summary_max(const struct worker *w); /* tokens */
/* Estimates how many tokens worker_render gives, without tokenizing what has been counted before or is huge. False:
 * interrupted. */
bool worker_estimate(struct worker *w, const struct job *job, size_t n, int *tokens);
/* The text that stands for a message and its tokens without the template; of a huge one that is not cut yet, the
 * window's. Valid until the next call. */
const struct remembered *worker_known(struct worker *w, const struct job_message *m);
/* A text cut in its middle to at most max tokens; NULL where it has no more. */
char *worker_cut_to(struct worker *w, const char *text, size_t len, int max);
/* The same to about what the window can hold at most, without tokenizing; NULL where it is no longer. */
char *worker_cut_huge(const struct worker *w, const char *text, size_t len);
/* Takes the newest summary known; shortens a summary or a system prompt that is too large for this window. */
void worker_freshen(struct worker *w, struct job *job);
/* How many messages the plan says to summarize now (0: none), given the job's rendered length. */
size_t worker_plan(struct worker *w, const struct job *job, size_t rendered, bool idle);
/* Tokens a prompt may have, so that there is room for the answer. */
int worker_prompt_room(const struct worker *w, const struct job *job);

/* ---- worker_compact.c ---- */

/* Puts a summary in place of the first `cover` messages. False: interrupted, and nothing has changed. */
bool worker_summarize(struct worker *w, struct job *job, size_t cover, bool idle);
/* worker_compact, on the thread. */
void worker_compact_idle(struct worker *w, struct job *job);

/* ---- worker_fit.c ---- */

enum fit { FIT_OK, FIT_INTERRUPTED, FIT_FAILED };

/* The prompt of the next answer, compacted as often as it takes. */
enum fit worker_fit(struct worker *w, struct job *job, struct engine_tokens *out, char *err, size_t cap);

/* ---- worker_prepare.c ---- */

/* worker_prepare, on the thread. */
void worker_read_ahead(struct worker *w, struct job *job);

#endif
