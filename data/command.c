/* command.c - see command.h: one table of what commands do. */
#include "command.h"
#include "record.h"

#include <stdlib.h>

static enum db_result run_put_conversation(struct db *db, const struct command *c, struct store_event *e)
{
    (void)e;
    return db_put_conversation(db, &c->conversation);
}

static enum db_result run_put_message(struct db *db, const struct command *c, struct store_event *e)
{
    (void)e;
    return db_put_message(db, &c->message);
}

static enum db_result run_put_summary(struct db *db, const struct command *c, struct store_event *e)
{
    (void)e;
    return db_put_summary(db, &c->summary);
}

static enum db_result run_put_setting(struct db *db, const struct command *c, struct store_event *e)
{
    (void)e;
    return db_put_setting(db, c->key, c->text);
}

static enum db_result run_rename(struct db *db, const struct command *c, struct store_event *e)
{
    (void)e;
    return db_rename(db, c->id, c->text);
}

static enum db_result run_delete(struct db *db, const struct command *c, struct store_event *e)
{
    (void)e;
    return db_delete(db, c->id);
}

static enum db_result run_settings(struct db *db, const struct command *c, struct store_event *e)
{
    (void)c;
    return db_settings(db, e);
}

static enum db_result run_list(struct db *db, const struct command *c, struct store_event *e)
{
    (void)c;
    return db_list(db, e);
}

static enum db_result run_load(struct db *db, const struct command *c, struct store_event *e)
{
    return db_load(db, c->id, e);
}

static enum db_result run_search(struct db *db, const struct command *c, struct store_event *e)
{
    return db_search(db, c->text, c->id, e);
}

const struct command_operation command_operations[] = {
    [PUT_CONVERSATION] = {run_put_conversation, true, 0},
    [PUT_MESSAGE] = {run_put_message, true, 0},
    [PUT_SUMMARY] = {run_put_summary, true, 0},
    [PUT_SETTING] = {run_put_setting, true, 0},
    [RENAME] = {run_rename, true, 0},
    [DELETE] = {run_delete, true, 0},
    [SETTINGS] = {run_settings, false, STORE_SETTINGS},
    [LIST] = {run_list, false, STORE_LIST},
    [LOAD] = {run_load, false, STORE_LOADED},
    [SEARCH] = {run_search, false, STORE_FOUND},
};

void command_free(struct command *c)
{
    record_end_conversation(&c->conversation);
    record_end_message(&c->message);
    record_end_summary(&c->summary);
    free(c->key);
    free(c->text);
    free(c);
}
