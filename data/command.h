/*
 * command.h - what can be asked of the store's thread, each with its arguments, as the queue of store.c holds it.
 */
#ifndef COMMAND_H
#define COMMAND_H

#include "db.h"

enum command_type {
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

struct command {
    struct command *next;
    enum command_type type;
    bool busy;                              /* in the thread's hands, without the lock: not to be changed */
    store_id id;                            /* RENAME, DELETE, LOAD, SEARCH: the conversation */
    struct store_conversation conversation; /* of PUT_..., all copies: ours */
    struct store_message message;
    struct store_summary summary;
    char *key;
    char *text; /* title, value or query */
};

struct command_operation {
    enum db_result (*run)(struct db *db, const struct command *c, struct store_event *e); /* e: a query's answer */
    bool is_write;
    enum store_event_type answer; /* of a query */
};
extern const struct command_operation command_operations[]; /* by enum command_type */

void command_free(struct command *c);

#endif
