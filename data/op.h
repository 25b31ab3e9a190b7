/*
 * op.h - what can be asked of the store's thread, each with its arguments, as the queue of store.c holds it.
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
    bool busy;                              /* in the thread's hands, without the lock: not to be changed */
    uint64_t tag;                           /* of a query, for its event */
    store_id id;                            /* RENAME, SET_..., DELETE, LOAD, SEARCH: the conversation */
    struct store_conversation conversation; /* of PUT_..., all copies: ours */
    struct store_message message;
    struct store_summary summary;
    struct store_draft draft;
    store_id leaf;    /* SET_LEAF */
    store_id through; /* LOAD: a message; 0 = the conversation's own leaf */
    int step;         /* LOAD: places from there */
    char *key;
    char *text;     /* title, value, system prompt, command or query */
    double born_ms; /* of clock_ms, when a setting or draft was first queued */
    double due_ms;  /* it may wait for this long, if it is alone; 0 = at once */
};

struct op_info {
    enum db_result (*run)(struct db *db, const struct op *op, struct store_event *e); /* e: a query's answer */
    bool is_write;
    enum store_event_type answer; /* of a query */
};
extern const struct op_info op_table[]; /* by enum op_type */

void op_end(struct op *op); /* frees what it points to */
void op_free(struct op *op);

#endif
