/* op.c - see op.h: the table of functions that run each command. */
#include "op.h"
#include "store_structs.h"

#include <stdlib.h>

static enum db_result run_put_conversation(struct db *db, const struct op *op, struct store_event *e)
{
    (void)e;
    return db_put_conversation(db, &op->conversation);
}

static enum db_result run_put_message(struct db *db, const struct op *op, struct store_event *e)
{
    (void)e;
    return db_put_message(db, &op->message);
}

static enum db_result run_put_summary(struct db *db, const struct op *op, struct store_event *e)
{
    (void)e;
    return db_put_summary(db, &op->summary);
}

static enum db_result run_put_setting(struct db *db, const struct op *op, struct store_event *e)
{
    (void)e;
    return db_put_setting(db, op->key, op->text);
}

static enum db_result run_rename(struct db *db, const struct op *op, struct store_event *e)
{
    (void)e;
    return db_rename(db, op->id, op->text);
}

static enum db_result run_put_draft(struct db *db, const struct op *op, struct store_event *e)
{
    (void)e;
    return db_put_draft(db, &op->draft);
}

static enum db_result run_put_command(struct db *db, const struct op *op, struct store_event *e)
{
    (void)e;
    return db_put_command(db, op->text);
}

static enum db_result run_set_leaf(struct db *db, const struct op *op, struct store_event *e)
{
    (void)e;
    return db_set_leaf(db, op->id, op->leaf);
}

static enum db_result run_set_system(struct db *db, const struct op *op, struct store_event *e)
{
    (void)e;
    return db_set_system(db, op->id, op->text);
}

static enum db_result run_delete(struct db *db, const struct op *op, struct store_event *e)
{
    (void)e;
    return db_delete(db, op->id);
}

static enum db_result run_settings(struct db *db, const struct op *op, struct store_event *e)
{
    (void)op;
    return db_settings(db, e);
}

static enum db_result run_list(struct db *db, const struct op *op, struct store_event *e)
{
    (void)op;
    return db_list(db, e);
}

static enum db_result run_load(struct db *db, const struct op *op, struct store_event *e)
{
    return db_load(db, op->id, op->through, op->step, e);
}

static enum db_result run_new_draft(struct db *db, const struct op *op, struct store_event *e)
{
    (void)op;
    return db_new_draft(db, e);
}

static enum db_result run_history(struct db *db, const struct op *op, struct store_event *e)
{
    (void)op;
    return db_history(db, e);
}

static enum db_result run_search(struct db *db, const struct op *op, struct store_event *e)
{
    return db_search(db, op->text, op->id, e);
}

const struct op_info op_table[] = {
    [PUT_CONVERSATION] = {run_put_conversation, true, 0},
    [PUT_MESSAGE] = {run_put_message, true, 0},
    [PUT_SUMMARY] = {run_put_summary, true, 0},
    [PUT_SETTING] = {run_put_setting, true, 0},
    [PUT_DRAFT] = {run_put_draft, true, 0},
    [PUT_COMMAND] = {run_put_command, true, 0},
    [RENAME] = {run_rename, true, 0},
    [SET_LEAF] = {run_set_leaf, true, 0},
    [SET_SYSTEM] = {run_set_system, true, 0},
    [DELETE] = {run_delete, true, 0},
    [SETTINGS] = {run_settings, false, STORE_SETTINGS},
    [LIST] = {run_list, false, STORE_LIST},
    [LOAD] = {run_load, false, STORE_LOADED},
    [NEW_DRAFT] = {run_new_draft, false, STORE_DRAFT},
    [HISTORY] = {run_history, false, STORE_HISTORY},
    [SEARCH] = {run_search, false, STORE_FOUND},
};

void op_end(struct op *op)
{
    store_clear_conversation(&op->conversation);
    store_clear_message(&op->message);
    store_clear_summary(&op->summary);
    store_clear_draft(&op->draft);
    free(op->key);
    free(op->text);
}

void op_free(struct op *op)
{
    op_end(op);
    free(op);
}
