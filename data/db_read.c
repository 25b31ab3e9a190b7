/* db_read.c - the queries of db.h but for the search. Each reads within one transaction: what another program changes
 * meanwhile is seen whole or not at all. */
#include "../src/base/mem.h"
#include "db.h"
#include "owner.h"
#include "store_structs.h"

#include <stdlib.h>

#define HISTORY_MAX 1000        /* prompts given, repetitions included */
#define HISTORY_BYTES (4 << 20) /* and their total size, roughly */

enum db_result db_settings(struct db *db, struct store_event *e)
{
    int rc = SQLITE_OK;
    sqlite3_stmt *stmt = db_bind(db, DB_SETTINGS, "");
    while (db_row(stmt, &rc)) {
        e->settings = mem_append(e->settings, e->n, sizeof *e->settings);
        e->settings[e->n++] = (struct store_setting){.key = db_text(stmt, 0), .value = db_text(stmt, 1)};
    }
    return rc == SQLITE_OK ? DB_OK : db_fail(db, rc);
}

static struct store_conversation conversation_of(sqlite3_stmt *stmt)
{
    return (struct store_conversation){
        .id = sqlite3_column_int64(stmt, 0),
        .leaf = sqlite3_column_int64(stmt, 1),
        .title = db_text(stmt, 2),
        .system = db_text(stmt, 3),
        .created_ms = sqlite3_column_int64(stmt, 4),
        .updated_ms = sqlite3_column_int64(stmt, 5),
        .n_messages = sqlite3_column_int(stmt, 6),
    };
}

enum db_result db_list(struct db *db, struct store_event *e)
{
    int rc = SQLITE_OK;
    sqlite3_stmt *stmt = db_bind(db, DB_LIST, "");
    while (db_row(stmt, &rc)) {
        e->conversations = mem_append(e->conversations, e->n, sizeof *e->conversations);
        e->conversations[e->n++] = conversation_of(stmt);
    }
    return rc == SQLITE_OK ? DB_OK : db_fail(db, rc);
}

static struct store_message message_of(struct db *db, sqlite3_stmt *stmt)
{
    struct store_message m = {
        .id = sqlite3_column_int64(stmt, 0),
        .conversation = sqlite3_column_int64(stmt, 1),
        .parent = sqlite3_column_int64(stmt, 2),
        .role = (enum store_role)sqlite3_column_int(stmt, 3),
        .state = (enum store_state)sqlite3_column_int(stmt, 4),
        .text = db_text(stmt, 5),
        .model = db_text(stmt, 6),
        .created_ms = sqlite3_column_int64(stmt, 7),
        .prompt_tokens = sqlite3_column_int(stmt, 8),
        .evaluated_tokens = sqlite3_column_int(stmt, 9),
        .generated_tokens = sqlite3_column_int(stmt, 10),
        .first_token_ms = sqlite3_column_double(stmt, 11),
        .decode_ms = sqlite3_column_double(stmt, 12),
        .end = (enum store_end)sqlite3_column_int(stmt, 14),
        .number = sqlite3_column_int(stmt, 15),
        .count = sqlite3_column_int(stmt, 16),
    };
    store_id owner = sqlite3_column_int64(stmt, 13);
    /* The program that wrote this answer was killed after this one opened the file. The next db_open corrects the
     * row. */
    if (m.state == STORE_STREAMING && owner != db->owner && !owner_alive(db->lock_fd, owner)) {
        m.state = STORE_INTERRUPTED;
        m.end = STORE_END_INTERRUPTED;
    }
    return m;
}

/* One integer; 0 where there is none. */
static store_id read_id(sqlite3_stmt *stmt, int *rc)
{
    store_id id = 0;
    while (db_row(stmt, rc))
        id = sqlite3_column_int64(stmt, 0);
    return id;
}

static bool read_conversation(struct db *db, store_id id, struct store_event *e, int *rc)
{
    sqlite3_stmt *stmt = db_bind(db, DB_CONVERSATION, "i", id);
    while (db_row(stmt, rc))
        e->conversation = conversation_of(stmt);
    return e->conversation.id != 0;
}

static bool read_message(struct db *db, store_id id, struct store_event *e, int *rc)
{
    size_t before = e->n;
    sqlite3_stmt *stmt = db_bind(db, DB_MESSAGE, "ii", id, e->conversation.id);
    while (db_row(stmt, rc)) {
        e->messages = mem_append(e->messages, e->n, sizeof *e->messages);
        e->messages[e->n++] = message_of(db, stmt);
    }
    return e->n > before;
}

static void forget_messages(struct store_event *e)
{
    while (e->n)
        store_clear_message(&e->messages[--e->n]);
}

/* The newest message below the one asked for: see store_load_through. 0 where that is not there. */
static store_id find_leaf(struct db *db, store_id through, int step, struct store_event *e, int *rc)
{
    store_id conversation = e->conversation.id, leaf = through;
    if (!read_message(db, through, e, rc) || *rc != SQLITE_OK)
        return 0;
    int number = e->messages[0].number, count = e->messages[0].count;
    forget_messages(e);
    if (count > 0 && step)
        leaf = read_id(db_bind(db, DB_ANSWER, "id", through, ((number - 1 + step) % count + count) % count), rc);
    for (int i = 0; *rc == SQLITE_OK && i < e->conversation.n_messages; i++) {
        store_id below = read_id(db_bind(db, DB_NEWEST_BELOW, "ii", leaf, conversation), rc);
        if (!below)
            break;
        leaf = below;
    }
    return leaf;
}

/* The path from the leaf to the root, then turned round. */
static void read_path(struct db *db, store_id leaf, struct store_event *e, int *rc)
{
    struct store_conversation *c = &e->conversation;
    if (leaf && read_message(db, leaf, e, rc)) {
        /* not the path the conversation's leaf tells of */
    } else if (c->leaf && !read_message(db, c->leaf, e, rc) && *rc == SQLITE_OK) {
        /* The leaf never reached the file (a program killed between two writes): the newest message is the best
         * guess. */
        c->leaf = read_id(db_bind(db, DB_NEWEST_MESSAGE, "i", c->id), rc);
        if (c->leaf)
            read_message(db, c->leaf, e, rc);
    }
    while (*rc == SQLITE_OK && e->n > 0 && e->messages[e->n - 1].parent) {
        if (e->n >= (size_t)c->n_messages) { /* more steps than messages: a circle */
            *rc = SQLITE_CORRUPT;
            return;
        }
        if (!read_message(db, e->messages[e->n - 1].parent, e, rc))
            break;
    }
    for (size_t i = 0, j = e->n; i + 1 < j; i++) {
        struct store_message swapped = e->messages[i];
        e->messages[i] = e->messages[--j];
        e->messages[j] = swapped;
    }
}

static int by_id(const void *a, const void *b)
{
    store_id left = *(const store_id *)a, right = *(const store_id *)b;
    return (left > right) - (left < right);
}

/* Only those of the path shown: after a fork at an earlier message, a summary may tell of what is no longer there. */
static void read_summaries(struct db *db, struct store_event *e, int *rc)
{
    store_id *path = mem_new(e->n, sizeof *path);
    for (size_t i = 0; i < e->n; i++)
        path[i] = e->messages[i].id;
    qsort(path, e->n, sizeof *path, by_id);
    sqlite3_stmt *stmt = db_bind(db, DB_SUMMARIES, "i", e->conversation.id);
    while (db_row(stmt, rc)) {
        store_id first = sqlite3_column_int64(stmt, 2), last = sqlite3_column_int64(stmt, 3);
        if (!bsearch(&last, path, e->n, sizeof *path, by_id) ||
            (first && !bsearch(&first, path, e->n, sizeof *path, by_id)))
            continue;
        e->summaries = mem_append(e->summaries, e->n_summaries, sizeof *e->summaries);
        e->summaries[e->n_summaries++] = (struct store_summary){
            .id = sqlite3_column_int64(stmt, 0),
            .conversation = sqlite3_column_int64(stmt, 1),
            .first = first,
            .last = last,
            .text = db_text(stmt, 4),
            .method = db_text(stmt, 5),
            .created_ms = sqlite3_column_int64(stmt, 6),
        };
    }
    free(path);
}

/* A conversation deleted here that another program has brought back: whoever is shown it may write in it again. */
static void forget_deletion(struct db *db, store_id conversation)
{
    for (size_t i = 0; i < db->n_deleted; i++)
        if (db->deleted[i] == conversation)
            db->deleted[i] = 0;
}

/* The newest draft that no other living program is typing. */
static void read_draft(struct db *db, sqlite3_stmt *stmt, store_id conversation, struct store_event *e, int *rc)
{
    while (db_row(stmt, rc)) {
        store_id owner = sqlite3_column_int64(stmt, 2);
        if (e->draft.id || (owner != db->owner && owner_alive(db->lock_fd, owner)))
            continue;
        e->draft = (struct store_draft){
            .id = sqlite3_column_int64(stmt, 0),
            .conversation = conversation,
            .text = db_text(stmt, 1),
            .updated_ms = sqlite3_column_int64(stmt, 3),
        };
    }
}

enum db_result db_new_draft(struct db *db, struct store_event *e)
{
    int rc = SQLITE_OK;
    read_draft(db, db_bind(db, DB_NEW_DRAFTS, ""), 0, e, &rc);
    return rc == SQLITE_OK ? DB_OK : db_fail(db, rc);
}

/* Texts of a statement's rows until there are enough. */
static char **read_texts(sqlite3_stmt *stmt, size_t *n, int *rc)
{
    char **texts = NULL;
    size_t bytes = 0;
    while (*n < HISTORY_MAX && bytes < HISTORY_BYTES && db_row(stmt, rc)) {
        texts = mem_append(texts, *n, sizeof *texts);
        texts[(*n)++] = db_text(stmt, 0);
        bytes += (size_t)sqlite3_column_bytes(stmt, 0);
    }
    sqlite3_reset(stmt);
    return texts;
}

enum db_result db_history(struct db *db, struct store_event *e)
{
    int rc = SQLITE_OK;
    e->prompts = read_texts(db_bind(db, DB_PROMPTS, ""), &e->n, &rc);
    if (rc == SQLITE_OK)
        e->commands = read_texts(db_bind(db, DB_COMMANDS, ""), &e->n_commands, &rc);
    return rc == SQLITE_OK ? DB_OK : db_fail(db, rc);
}

enum db_result db_load(struct db *db, store_id conversation, store_id through, int step, struct store_event *e)
{
    int rc = db_begin(db, DB_BEGIN_READ);
    if (rc == SQLITE_OK && !conversation)
        conversation = read_id(db->statements[DB_NEWEST], &rc);
    if (rc == SQLITE_OK && conversation && read_conversation(db, conversation, e, &rc)) {
        forget_deletion(db, conversation);
        read_path(db, through ? find_leaf(db, through, step, e, &rc) : 0, e, &rc);
        if (rc == SQLITE_OK)
            read_summaries(db, e, &rc);
        if (rc == SQLITE_OK)
            read_draft(db, db_bind(db, DB_DRAFTS, "i", conversation), conversation, e, &rc);
    }
    return db_finish(db, rc);
}
