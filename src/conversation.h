/*
 * conversation.h - one conversation, held in memory: the path of messages shown, and what stands for its beginning.
 *
 * The store keeps the whole tree; here is the path from its root to the leaf. Text only: no thread, no model, no
 * screen. The functions at the end translate for the store and for the worker.
 */
#ifndef CONVERSATION_H
#define CONVERSATION_H

#include "../data/store.h"
#include "base/buffer.h"
#include "outbox.h"
#include "worker.h"

#include <stdbool.h>
#include <stddef.h>

#define CONVERSATION_SAVE_MS 200 /* a growing answer is written this often: well within the 250 ms promised */

struct conversation_message {
    store_id id, parent;
    enum store_role role;
    enum store_state state;
    bool saved;                                 /* a person's: it is on the disk (STORE_SAVED) */
    struct buffer text;                         /* all of it, of an answer with what was thought before it */
    struct engine_thought thought;              /* of an answer: its place in text */
    int64_t thought_began_ms, thought_ended_ms; /* since 1970; 0 = not yet, or it was in another run of the program */
    char *model;                                /* which wrote it; NULL for a person's */
    int64_t created_ms;                         /* since 1970 */
    int number, count;         /* of an answer: which of those to its question, from 1, and how many there are */
    enum store_end end;        /* of an answer: why it ended */
    struct engine_stats stats; /* of an answer; zeros = unknown */
};

/* What was typed but not sent. */
struct conversation_draft {
    store_id id;  /* 0 while the store has none */
    char *typed;  /* NULL = nothing */
    char *stored; /* what the store has: messages in the outbox, then typed; NULL = nothing */
};

struct conversation {
    store_id id;
    char *title;
    bool named;   /* a person gave the title */
    bool stored;  /* the store has a row: from the first message on */
    bool deleted; /* nothing of it may be written any more */
    char *system; /* system prompt; NULL = the model's own, "" = none */
    int64_t created_ms;
    struct conversation_message *messages; /* the path, root first */
    size_t n, cap;
    int n_dropped; /* answers to the last question that another is to stand beside */
    struct conversation_draft draft;
    char *summary; /* of the first n_summarized messages, for the model; NULL = none */
    size_t n_summarized;
    int window_used; /* tokens of the window after the last answer; 0 = unknown */
    struct outbox
        outbox; /* messages sent while an answer is owed: not on the path, nor in the store, until it ended */
};

/* A new one; system is copied and may be NULL. */
struct conversation *conversation_new(const char *system);
/* From a STORE_LOADED event, whose strings are copied. */
struct conversation *conversation_from_store(const struct store_event *loaded);
void conversation_free(struct conversation *c);             /* NULL is fine */
void conversation_draft_free(struct conversation_draft *d); /* what it points to; then it is empty */

/* The first line of text that is not blank, at most 72 columns, cut between words or graphemes. malloc'd. */
char *conversation_title_of(const char *text);

/* ---- growing; the message returned is valid until the next one is added ---- */

/* The person's message at the end; the first one gives the title. text need not end with a NUL. */
struct conversation_message *conversation_ask(struct conversation *c, const char *text, size_t len);
/* An empty answer, STORE_STREAMING, at the end. */
struct conversation_message *conversation_answer(struct conversation *c, const char *model);
struct conversation_message *conversation_find(struct conversation *c,
                                               store_id message); /* NULL if it is not there */

/* What a text holds: the thought it begins with, where it has one, and what the person reads and the model is told
 * again. Pointers into the message's text, valid until it grows. */
struct conversation_parts {
    const char *thought, *answer;
    size_t thought_len, answer_len;
};
struct conversation_parts conversation_parts(const struct conversation_message *m);
/* Both return what has come to each part. */
struct conversation_parts conversation_append(struct conversation_message *answer, const char *piece, size_t len);
/* The answer has ended. text (may be NULL) is the whole of it: pieces may have been held back until now. */
struct conversation_parts conversation_finish(struct conversation_message *answer, enum worker_end end,
                                              const char *text, const struct engine_stats *stats);
/* A line about how an answer ended, for the reader: "cut at the window". NULL where there is nothing to say. Static. */
const char *conversation_footnote(const struct conversation_message *m);
/* Takes the last answer off the path, so that another can be its sibling. False where the last message is none. */
bool conversation_drop_answer(struct conversation *c);
/* A summary now stands for everything up to the message `last`. False where that is not on the path. */
bool conversation_summarize(struct conversation *c, store_id last, const char *text);
/* Whether the last message is a person's: an answer is owed. */
bool conversation_awaits_answer(const struct conversation *c);

/* ---- for the worker ---- */

/* What the model is to see: the system prompt, the summary, and the messages after it and before `answer` (0 = all);
 * what was thought before an answer is left out. Messages of the same side that follow each other (an answer that
 * never came) are joined, for templates want them in turn. Strings belong to the snapshot: it outlives changes to the
 * conversation. */
struct conversation_job {
    struct worker_job job;
    struct worker_message *messages;
    struct buffer *texts; /* of each message */
    char *system, *summary;
};
void conversation_job_make(struct conversation_job *job, const struct conversation *c, store_id answer);
/* The same with a draft ("" = none yet) as the person's next message, as if it had been sent; its id is 0. */
void conversation_job_guess(struct conversation_job *job, const struct conversation *c, const char *draft);
void conversation_job_free(struct conversation_job *job);

/* ---- for the store ---- */

/* Writes the message, and before the first one the conversation. Save every message once it is added: the store makes
 * a new message the end of the path. These functions write nothing if the conversation was deleted. */
void conversation_save(struct conversation *c, struct store *store, const struct conversation_message *m);
/* The message alone: for the many times an answer grows. */
void conversation_save_text(const struct conversation *c, struct store *store, const struct conversation_message *m);
/* Another path is shown: its last message is the one to show from now on. */
void conversation_save_path(const struct conversation *c, struct store *store);
void conversation_save_system(const struct conversation *c, struct store *store);
/* The summary of a WORKER_SUMMARY. */
void conversation_save_summary(const struct conversation *c, struct store *store, const struct worker_event *summary);

#endif
