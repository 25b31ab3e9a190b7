/*
 * op.h - the commands of the store's thread with their arguments, as store.c queues them.
 */
#ifndef OP_H
#define OP_H

#include "db.h"

enum op_type {
    PUT_CONVERSATION,
    PUT_MESSAGE,
    PUT_SUMMARY,
    PUT_SETTING,
    PUT_DRAFT,
    PUT_COMMAND,
    RENAME,
    SET_LEAF,
    SET_SYSTEM,
    DELETE,
    SETTINGS, /* from here on queries */
    LIST,
    LOAD,
    NEW_DRAFT,
    HISTORY,
    SEARCH,
};

struct op {
    struct op *next;
    enum op_type type;
    bool busy;                              /* the thread reads it without the lock: do not change it */
    uint64_t tag;                           /* a query's, repeated by its event */
    store_id id;                            /* RENAME, SET_..., DELETE, LOAD, SEARCH: the conversation */
    struct store_conversation conversation; /* PUT_...: deep copies, owned */
    struct store_message message;
    struct store_summary summary;
    struct store_draft draft;
    store_id leaf;    /* SET_LEAF */
    store_id through; /* LOAD: a message; 0 = the conversation's own leaf */
    int step;         /* LOAD: see store_load_through */
    char *key;
    char *text;     /* title, value, system prompt, command or query */
    double born_ms; /* clock_ms when a setting or draft was first queued */
    double due_ms;  /* clock_ms until which it may wait while nothing else is queued; 0 = run at once */
};

struct op_info {
    enum db_result (*run)(struct db *db, const struct op *op, struct store_event *e); /* e: a query's answer */
    bool is_write;
    enum store_event_type answer; /* of a query */
};
extern const struct op_info op_table[]; /* by enum op_type */

void op_end(struct op *op); /* frees what op points to, not op */
void op_free(struct op *op);

#endif
