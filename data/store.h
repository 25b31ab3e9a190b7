/*
 * store.h - conversations, settings, drafts and history in one SQLite file.
 *
 * The store runs a thread of its own that owns the connection and blocks all signals but faults. Commands
 * (store_put_*, store_list, ...) copy their arguments, go into a queue and return at once; results and failures come
 * out as events. Commands are carried out in order. Writes that are queued together share one transaction, which is
 * durable before the next query runs: store_hold and store_release mark what belongs together. A setting or a draft
 * waits a moment for its next value, unless another command is queued behind it or the store is closed. Any thread may
 * call any function.
 *
 * A write that fails (full disk, locked file, lost mount) is kept and tried again every second until it succeeds or
 * the store is closed: STORE_FAILING says so once, STORE_RECOVERED when it is over. Nothing acknowledged is ever
 * lost. Queries are answered meanwhile, what is kept included (unless another program's lock prevents that). Only a
 * write that could never succeed, such as a summary of a conversation that is gone, is given up with STORE_ERROR.
 *
 * Each query takes a tag, a number of the caller's choice. The one event that answers the query carries the tag: the
 * result, or the STORE_ERROR that says why there is none. The tag of every other event is 0.
 *
 * The file: 0600 in a directory of 0700, application_id and user_version checked; a file that is not ours, or of a
 * later version, is refused and left alone. Several programs may have it open.
 *
 * The tree: each message names its parent (0 = first of the conversation); a conversation names its leaf, and the
 * path from there to the root is what is shown. Answering again or editing adds a sibling; nothing is destroyed.
 * A new message becomes the leaf in the same transaction, so that a program killed right after shows it again;
 * store_set_leaf shows another branch.
 *
 * Two programs in one conversation: both branches are kept, and the newest message decides which one is shown. If one
 * program deletes the conversation, what the other writes afterwards is kept in a conversation of the same id, without
 * its past, named after its first new message. The store drops what a program puts into a conversation that the same
 * program has deleted.
 */
#ifndef STORE_H
#define STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef int64_t store_id; /* > 0, made by store_new_id; 0 = none */

/* Milliseconds since 1970 in the upper bits, random in the lower: unique across programs, ascending in time. */
store_id store_new_id(void);

enum store_role { STORE_SYSTEM, STORE_USER, STORE_ASSISTANT };
enum store_state { STORE_COMPLETE, STORE_STREAMING, STORE_INTERRUPTED };

/* Why an answer ended. The numbers are stored: never change one. */
enum store_end {
    STORE_END_UNKNOWN = 0, /* still streaming, a person's message, or written by a version that did not record it */
    STORE_END_COMPLETE = 1,
    STORE_END_STOPPED = 2,     /* by the person */
    STORE_END_MAX_TOKENS = 3,  /* the limit set for an answer was reached */
    STORE_END_WINDOW = 4,      /* the context window was full */
    STORE_END_INTERRUPTED = 5, /* the program ended or was killed */
    STORE_END_REPEATING = 6,   /* the answer repeated itself */
    STORE_END_FAILED = 7,      /* the engine or the server reported an error */
};

struct store_conversation {
    store_id id;
    store_id leaf;                  /* last message of the path shown; 0 while empty */
    char *title;                    /* never NULL in results; NULL in a put keeps the present one */
    char *system;                   /* system prompt; NULL = the model's own default, "" = none */
    int64_t created_ms, updated_ms; /* since 1970, 0 in a put = now; updated_ms is set by the store */
    int n_messages;                 /* in results only; other branches' too */
};

struct store_message {
    store_id id, conversation, parent;
    enum store_role role;
    enum store_state state;
    char *text;  /* UTF-8, NUL-terminated; never NULL in results, NULL in a put is "" */
    char *model; /* which model wrote it; NULL for a person's */
    int64_t created_ms;
    int prompt_tokens, evaluated_tokens, generated_tokens; /* statistics of an answer; 0 = unknown */
    double first_token_ms, decode_ms;
    enum store_end end; /* of an answer; values unknown to this version are returned unchanged */
    int number, count;  /* in results only: which of the answers to its question it is, from 1, oldest first, and how
                          many there are; 0 where it answers none */
};

struct store_summary { /* replaces older messages in the model's context; the messages stay stored */
    store_id id, conversation;
    store_id first, last; /* messages covered, inclusive, along the path */
    char *text;
    char *method; /* "model" or "extract" */
    int64_t created_ms;
};

struct store_draft {       /* a message that was typed but not sent */
    store_id id;           /* made by the program that types it */
    store_id conversation; /* 0: of a new conversation, which has no message yet */
    char *text;            /* NULL or "" in a put removes the draft */
    int64_t updated_ms;    /* set by the store */
};

struct store_hit {                  /* a search result */
    store_id conversation, message; /* message 0: the title matches */
    enum store_role role;           /* of the message */
    char *title;
    char *excerpt; /* one line around the match */
    int64_t created_ms;
};

enum store_event_type {
    STORE_SETTINGS,  /* settings, n: once, when the file is open, before any answer to a query */
    STORE_LIST,      /* conversations, n: most recently updated first */
    STORE_LOADED,    /* conversation (id 0 = not found), messages root first, summaries of that path oldest first,
                          draft */
    STORE_DRAFT,     /* draft */
    STORE_HISTORY,   /* prompts, n, and commands, n_commands: newest first */
    STORE_FOUND,     /* hits, n, and the query they answer */
    STORE_FAILING,   /* text: why writes are failing now; they are kept and retried */
    STORE_RECOVERED, /* all that was kept has been written */
    STORE_SAVED,     /* conversation.id, message: a message of a person is on the disk now */
    STORE_NOTICE,    /* text: what the user should know about the file, such as a repair */
    STORE_READ_ONLY, /* text: why the file cannot be written. Puts go to a copy in memory, which ends with the store */
    STORE_OPEN_FAILED, /* text: why the file cannot be opened. The last event: nothing is answered or saved */
    STORE_ERROR,       /* text: a query failed (its tag), a write can never succeed, or the file is damaged (tag 0) */
};

struct store_setting {
    char *key, *value;
};

struct store_event { /* owned by whoever took it: store_event_free */
    enum store_event_type type;
    uint64_t tag; /* of the query that this event answers; 0 = none */
    size_t n;     /* of the array the type names (messages for STORE_LOADED) */
    struct store_setting *settings;
    struct store_conversation *conversations;
    struct store_conversation conversation;
    struct store_message *messages;
    struct store_summary *summaries;
    size_t n_summaries;
    struct store_draft draft; /* id 0 = there is none */
    char **prompts, **commands;
    size_t n_commands;
    struct store_hit *hits;
    store_id message;
    char *text; /* message or query */
};

struct store;

/* Starts the store's thread and returns at once. The thread opens or creates the file (path NULL: a private database
 * in memory), migrates it, marks answers left STORE_STREAMING by a killed program as STORE_INTERRUPTED and emits
 * STORE_SETTINGS; commands may be queued before that. While another program holds the file locked, the thread tries
 * again every second and STORE_FAILING says so; any other failure ends in STORE_OPEN_FAILED. notify (may be NULL) is
 * called from that thread after each event is queued; it must only wake its owner. Returns NULL and fills err where
 * no thread can be started. */
struct store *store_open(const char *path, void (*notify)(void *ctx), void *ctx, char *err, size_t cap);

/* Runs the queued writes, then closes. Returns false and fills err if a write could not be saved. */
bool store_close(struct store *s, char *err, size_t cap);

/* ---- writes ---- */

/* Writes queued between these two calls share one transaction (except deletions, each of which has its own); the
 * store runs none of them before the release. Calls nest. */
void store_hold(struct store *s);
void store_release(struct store *s);

/* Creates the conversation; does not change an existing one. Each function below changes one column of it. */
void store_put_conversation(struct store *s, const struct store_conversation *c);
void store_rename(struct store *s, store_id conversation, const char *title);
void store_set_system(struct store *s, store_id conversation, const char *system); /* NULL = the model's default */
void store_set_leaf(struct store *s, store_id conversation, store_id leaf);
void store_delete(struct store *s, store_id conversation); /* with its messages, summaries and drafts */
/* Inserts or updates by id; the conversation, parent, role and time of a message are fixed by its first put. A queued
 * older state of the message is replaced. */
void store_put_message(struct store *s, const struct store_message *m);
void store_put_summary(struct store *s, const struct store_summary *summary);
void store_put_setting(struct store *s, const char *key, const char *value); /* value NULL removes it */
void store_put_draft(struct store *s, const struct store_draft *draft);      /* on disk within half a second */
void store_put_command(struct store *s, const char *text); /* into the command history, once, as the newest */

/* ---- queries: each is answered by one event with the same tag ---- */
void store_list(struct store *s, uint64_t tag);
void store_load(struct store *s, store_id conversation, uint64_t tag); /* 0 = the most recently updated one */
/* The draft of a new conversation: the newest that no other running program is typing. */
void store_new_draft(struct store *s, uint64_t tag);
/* What was typed in all conversations: a person's messages, at most 1000, and slash commands, at most 200. Texts may
 * repeat. */
void store_history(struct store *s, uint64_t tag);
/* Like store_load, along another path: through this message, or through the answer `step` places after it among the
 * answers to the same question (wrapping around), and on to the newest message below. Does not change the
 * conversation's leaf (see store_set_leaf). If the message does not exist, the path is the leaf's. */
void store_load_through(struct store *s, store_id conversation, store_id message, int step, uint64_t tag);
/* Messages that contain every word of the query (its first 64), as substrings, in any script and case: newest first,
 * at most 200, before them titles that do. conversation 0 = all; else only its messages. */
void store_search(struct store *s, const char *query, store_id conversation, uint64_t tag);

/* Returns the next event, or NULL if none is queued. Never blocks. */
struct store_event *store_take(struct store *s);
/* Waits for an event; returns NULL after timeout_ms (-1: no timeout). */
struct store_event *store_wait(struct store *s, int timeout_ms);
void store_event_free(struct store_event *e); /* NULL is fine */

#endif
