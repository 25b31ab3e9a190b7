/*
 * worker.h - the thread that owns the model: commands in, events out.
 *
 * The worker loads the model, plans the window, evaluates, samples and summarizes. Commands return at once and copy
 * their arguments; they may come from any one thread. A new command to generate waits for the running one;
 * worker_stop ends it. Sampling settings are shared and read afresh for every token. The thread blocks all signals
 * but faults.
 */
#ifndef WORKER_H
#define WORKER_H

#include "../engine/engine.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct worker;

struct worker_options {
    const char *model_path;
    int n_ctx, threads; /* 0 = defaults */
    bool no_mmap, no_repack;
    enum engine_kv_type kv_type;
    int attn_window;
    uint64_t seed; /* 0 = random */
};

/* notify is called from the worker after each event is queued; it must only wake its owner. NULL and err when no
 * thread can be started; that the model cannot be loaded comes as an event. */
struct worker *worker_open(const struct worker_options *options, void (*notify)(void *ctx), void *ctx, char *err,
                           size_t cap);
void worker_close(struct worker *w); /* stops what runs, joins the thread; NULL is fine */

/* One message of the conversation as the worker sees it. */
struct worker_message {
    int64_t id;            /* the worker remembers the token ids of answers it wrote under their id */
    enum engine_role role; /* ENGINE_USER or ENGINE_ASSISTANT */
    const char *text;
    size_t own; /* where in text the message itself begins: before it stand earlier ones that were never answered */
};

struct worker_job {
    int64_t conversation;
    int64_t answer;      /* id the new answer will have */
    const char *system;  /* NULL = the model's default, "" = none */
    const char *summary; /* of all before messages[0], or NULL; a newer one of this worker goes before it */
    const struct worker_message *messages; /* the verbatim tail, oldest first; the last is the person's new one */
    size_t n_messages;
    int max_tokens;    /* of the answer; 0 = as the window allows */
    uint64_t draw;     /* which answer of its conversation this is, 0 = the first: with a fixed seed each has random
                          numbers of its own, and the same ones in every conversation */
    bool skip_thought; /* the prompt ends with an empty thought where the template has one: engine_skip_thought */
    bool stop_loops;   /* ends the answer once it repeats itself without end: repetition.h */
};
void worker_generate(struct worker *w, const struct worker_job *job);
void worker_stop(struct worker *w); /* the running generation or compaction and all that are queued */
/* Compacts the context after the last answer if it is past the soft limit, and evaluates what the next prompt begins
 * with; given up when another command comes. What has said WORKER_COMPACTING ends with a WORKER_DONE whose answer is
 * 0. */
void worker_compact(struct worker *w, const struct worker_job *job); /* answer, max_tokens, skip_thought unused */
/* A guess, while a person types: evaluates in idle time what the prompt of this job will begin with, so that
 * worker_generate has little left to do. The last message is the person's draft as it stands ("" while there is
 * none), its id any that is no message's. rests: nothing was typed for a moment, so it may well be sent as it is;
 * then the rest of the prompt is evaluated too. Of lowest priority: a newer guess takes its place, any other command
 * drops it, begun or not. No events come of it, and answers are the same, token for token, with it and without. */
void worker_prepare(struct worker *w, const struct worker_job *job, bool rests); /* answer unused */
void worker_load(struct worker *w, const char *model_path); /* another model; on failure the present one stays */

/* Takes effect at the next token. Until the first call the model file's defaults apply. With a fixed seed the random
 * numbers restart at every answer (worker_job.draw) and whenever the seed changes; seed 0 = random. */
void worker_set_sampling(struct worker *w, const struct engine_sampling *sampling);
void worker_set_threads(struct worker *w, int threads);

enum worker_event_type {
    WORKER_LOADING,     /* progress */
    WORKER_LOADED,      /* model: name and quantization as shown; n_ctx; sampling: the file's defaults */
    WORKER_LOAD_FAILED, /* text */
    WORKER_STARTED,     /* answer: its prompt is being evaluated; progress 0..1; stats.prompt_tokens known */
    WORKER_PIECE,       /* answer, text (len bytes): pieces since the last event, coalesced; stats */
    WORKER_DONE,        /* answer, end, stats, text = the whole answer; answer 0: the end of a worker_compact */
    WORKER_COMPACTING,  /* conversation */
    WORKER_SUMMARY, /* conversation, first..last: ids covered by the new summary (with all before), text, method */
    WORKER_NOTICE,  /* conversation, or 0: whichever is shown; text: one line for the transcript */
};

enum worker_end {
    WORKER_END_COMPLETE,
    WORKER_END_STOPPED,
    WORKER_END_LENGTH,
    WORKER_END_LOOP,  /* the answer repeated itself without end (worker_job.stop_loops) */
    WORKER_END_FAILED /* text says why */
};

struct worker_event { /* owned by the taker: worker_event_free */
    enum worker_event_type type;
    int64_t conversation, answer, first, last;
    enum worker_end end;
    float progress;
    char *text;
    size_t len;
    const char *method;        /* "model", "extract" */
    struct engine_stats stats; /* of an answer: first_token_ms counts from worker_generate */
    struct engine_sampling sampling;
    char model[96];
    int n_ctx, threads;
};
/* The next event, or NULL when there is none now. */
struct worker_event *worker_take(struct worker *w);
/* Waits for one; NULL when timeout_ms passed first (-1: never). */
struct worker_event *worker_wait(struct worker *w, int timeout_ms);
void worker_event_free(struct worker_event *e);

#endif
