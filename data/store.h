/*
 * store.h - everything chinwag remembers, in one SQLite file.
 *
 * The store runs a thread of its own that owns the connection and blocks all signals but faults. Commands
 * (store_put_*, store_list, ...) copy their arguments, go into a queue and return at once; results and failures come
 * out as events. Commands are carried out in order, each write in a transaction that is durable before the next
 * command runs. Any thread may call any function.
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
 * later version, is refused and left alone. Two programs may have it open.
 *
 * The tree: each message names its parent (0 = first of the conversation); a conversation names its leaf, and the
 * path from there to the root is what is shown. Answering again or editing adds a sibling; nothing is destroyed.
 * A new message whose parent is the leaf becomes the leaf in the same transaction, so that a program killed right
 * after shows it again; for siblings, store_put_conversation says which is shown.
 *
 * Two programs in one conversation: both branches are kept, the last leaf put is shown. Deleted by one, what the
 * other writes afterwards is kept in a conversation that comes back without its past. What a program puts into a
 * conversation that it deleted itself is dropped.
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
    enum store_end end; /* of an answer; a value this version does not know is passed on as it is */
    int number, count;  /* in results only: which of the answers to its question it is, from 1, oldest first, and how
                          many there are; 0 where it answers none */
};

struct store_summary { /* says what came before, for the model; the messages themselves stay untouched */
    store_id id, conversation;
    store_id first, last; /* messages covered, inclusive, along the path */
    char *text;
    char *method; /* "model" or "extract" */
    int64_t created_ms;
};

struct store_hit {                  /* a search result */
    store_id conversation, message; /* message 0: the title matches */
    enum store_role role;           /* of the message */
    char *title;
    char *excerpt; /* one line around the match */
    int64_t created_ms;
};

enum store_event_type {
    STORE_SETTINGS,    /* settings, n: once, when the file is open, before any answer to a query */
    STORE_LIST,        /* conversations, n: most recently updated first */
    STORE_LOADED,      /* conversation (id 0 = not found), messages root first, summaries of that path oldest first */
    STORE_FOUND,       /* hits, n, and the query they answer */
    STORE_FAILING,     /* text: why writes are failing now; they are kept and retried */
    STORE_RECOVERED,   /* all that was kept has been written */
    STORE_NOTICE,      /* text: what the user should know about the file, such as a repair */
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
    struct store_hit *hits;
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

/* Carries out what is queued, then closes. Returns false and the reason in err if a write could not be saved. */
bool store_close(struct store *s, char *err, size_t cap);

/* ---- writes: insert or update by id; what a message belongs to, its role and time are fixed by its first put -- */
void store_put_conversation(struct store *s, const struct store_conversation *c);
void store_put_message(struct store *s, const struct store_message *m); /* a queued older state of it is replaced */
void store_put_summary(struct store *s, const struct store_summary *summary);
void store_put_setting(struct store *s, const char *key, const char *value); /* value NULL removes it */
void store_rename(struct store *s, store_id conversation, const char *title);
void store_delete(struct store *s, store_id conversation); /* with its messages and summaries */

/* ---- queries: each is answered by one event with the same tag ---- */
void store_list(struct store *s, uint64_t tag);
void store_load(struct store *s, store_id conversation, uint64_t tag); /* 0 = the most recently updated one */
/* The same with another path: through this message, or through the answer `step` places after it among those to the
 * same question (after the last comes the first), on to the newest message below. The conversation's leaf stays what
 * it was until it is put; where the message is not there, the path is the leaf's. */
void store_load_through(struct store *s, store_id conversation, store_id message, int step, uint64_t tag);
/* Messages that contain every word of the query (its first 64), as substrings, in any script and case: newest first,
 * at most 200, before them titles that do. conversation 0 = all; else only its messages. */
void store_search(struct store *s, const char *query, store_id conversation, uint64_t tag);

/* The next event, or NULL when there is none now. */
struct store_event *store_take(struct store *s);
/* Waits for one; NULL when timeout_ms passed first (-1: never). */
struct store_event *store_wait(struct store *s, int timeout_ms);
void store_event_free(struct store_event *e); /* NULL is fine */

#endif
