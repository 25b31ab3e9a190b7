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
    RENAME,
    DELETE,
    SETTINGS, /* from here on queries */
    LIST,
    LOAD,
    SEARCH,
};

struct op {
    struct op *next;
    enum op_type type;
    bool busy;                              /* in the thread's hands, without the lock: not to be changed */
    uint64_t tag;                           /* of a query, for its event */
    store_id id;                            /* RENAME, DELETE, LOAD, SEARCH: the conversation */
    struct store_conversation conversation; /* of PUT_..., all copies: ours */
    struct store_message message;
    struct store_summary summary;
    store_id through; /* LOAD: a message; 0 = the conversation's own leaf */
    int step;         /* LOAD: places from there */
    char *key;
    char *text; /* title, value or query */
};

struct op_info {
    enum db_result (*run)(struct db *db, const struct op *op, struct store_event *e); /* e: a query's answer */
    bool is_write;
    enum store_event_type answer; /* of a query */
};
extern const struct op_info op_table[]; /* by enum op_type */

void op_free(struct op *op);

#endif
