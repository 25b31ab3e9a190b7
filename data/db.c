/* db.c - see db.h: the connection, its statements and its writes. */
#include "db.h"
#include "../src/base/clock.h"
#include "../src/base/mem.h"
#include "owner.h"
#include "search_index.h"
#include "store_structs.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COMMANDS_MAX 200 /* slash commands remembered */

/* clang-format off */
#define MESSAGE_COLUMNS "id, conversation_id, parent_id, role, state, text, model, created_ms, prompt_tokens, " \
    "evaluated_tokens, generated_tokens, first_token_ms, decode_ms, owner, ending"
#define CONVERSATION_COLUMNS "id, leaf_id, title, system, created_ms, updated_ms, " \
    "(SELECT count(*) FROM message WHERE conversation_id = conversation.id)"
#define IS_ANOTHER_ANSWER "a.parent_id = m.parent_id AND a.role = m.role AND m.role = 2"
#define FOUND_COLUMNS "m.conversation_id, m.id, c.title, m.text, m.created_ms, m.role"

static const char *const statements[DB_N_STATEMENTS] = {
    [DB_BEGIN_READ] = "BEGIN",
    [DB_BEGIN_WRITE] = "BEGIN IMMEDIATE",
    [DB_COMMIT] = "COMMIT",
    [DB_ROLLBACK] = "ROLLBACK",

    /* Each writes only what its caller changed: another program may have changed the rest. Upserts, because REPLACE
     * would delete the row first, and its messages with it. */
    [DB_PUT_CONVERSATION] =
        "INSERT INTO conversation(id, leaf_id, title, system, created_ms, updated_ms)"
        " VALUES(?1, ?2, coalesce(?3, ''), ?4, ?5, ?6) ON CONFLICT DO NOTHING",
    [DB_ENSURE_CONVERSATION] = /* titled by the first line of the message */
        "INSERT INTO conversation(id, title, created_ms, updated_ms)"
        " VALUES(?1, substr(?3, 1, min(instr(?3 || char(10), char(10)) - 1, 72)), ?2, ?2) ON CONFLICT DO NOTHING",
    [DB_RENAME] = "UPDATE conversation SET title = ?2 WHERE id = ?1",
    [DB_SET_SYSTEM] = "UPDATE conversation SET system = ?2, updated_ms = ?3 WHERE id = ?1",
    [DB_SET_LEAF] = "UPDATE conversation SET leaf_id = ?2, updated_ms = ?3 WHERE id = ?1",
    [DB_TOUCH] = "UPDATE conversation SET updated_ms = ?2 WHERE id = ?1",
    [DB_UPDATE_MESSAGE] =
        "UPDATE message SET state = ?2, owner = ?3, text = ?4, model = ?5, prompt_tokens = ?6, evaluated_tokens = ?7,"
        " generated_tokens = ?8, first_token_ms = ?9, decode_ms = ?10, ending = ?11 WHERE id = ?1",
    [DB_INSERT_MESSAGE] =
        "INSERT INTO message(id, state, owner, text, model, prompt_tokens, evaluated_tokens, generated_tokens,"
        " first_token_ms, decode_ms, ending, conversation_id, parent_id, role, created_ms)"
        " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12,"
        " (SELECT id FROM message WHERE id = ?13 AND conversation_id = ?12), ?14, ?15)",
    [DB_PUT_SUMMARY] =
        "INSERT INTO summary(id, conversation_id, first_id, last_id, text, method, created_ms)"
        " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT(id) DO UPDATE SET first_id = excluded.first_id,"
        " last_id = excluded.last_id, text = excluded.text, method = excluded.method",
    [DB_PUT_SETTING] =
        "INSERT INTO setting(key, value) VALUES(?1, ?2) ON CONFLICT(key) DO UPDATE SET value = excluded.value",
    [DB_REMOVE_SETTING] = "DELETE FROM setting WHERE key = ?1",
    [DB_PUT_DRAFT] =
        "INSERT INTO draft(id, conversation_id, owner, text, updated_ms) VALUES(?1, ?2, ?3, ?4, ?5)"
        " ON CONFLICT(id) DO UPDATE SET conversation_id = excluded.conversation_id, owner = excluded.owner,"
        " text = excluded.text, updated_ms = excluded.updated_ms",
    [DB_REMOVE_DRAFT] = "DELETE FROM draft WHERE id = ?1",
    [DB_PUT_COMMAND] = "INSERT INTO command(id, text) VALUES(?1, ?2) ON CONFLICT(text) DO UPDATE SET id = excluded.id",
    [DB_FORGET_COMMANDS] =
        "DELETE FROM command WHERE id <= (SELECT id FROM command ORDER BY id DESC LIMIT 1 OFFSET ?1)",
    [DB_DELETE_DRAFTS] = "DELETE FROM draft WHERE conversation_id = ?1",
    [DB_DELETE_MESSAGES] = "DELETE FROM message WHERE conversation_id = ?1",
    [DB_DELETE_CONVERSATION] = "DELETE FROM conversation WHERE id = ?1", /* summaries cascade */
    [DB_STREAMING_OWNERS] = "SELECT DISTINCT coalesce(owner, 0) FROM message WHERE state = 1",
    [DB_INTERRUPT] = "UPDATE message SET state = 2, ending = 5, owner = NULL WHERE state = 1 AND owner IS ?1", /* see store.h */

    [DB_SETTINGS] = "SELECT key, value FROM setting ORDER BY key",
    [DB_LIST] = "SELECT " CONVERSATION_COLUMNS " FROM conversation ORDER BY updated_ms DESC, id DESC",
    [DB_NEWEST] = "SELECT id FROM conversation ORDER BY updated_ms DESC, id DESC LIMIT 1",
    [DB_CONVERSATION] = "SELECT " CONVERSATION_COLUMNS " FROM conversation WHERE id = ?1",
    [DB_MESSAGE] =
        "SELECT " MESSAGE_COLUMNS ", (SELECT count(*) FROM message a WHERE " IS_ANOTHER_ANSWER " AND a.id <= m.id),"
        " (SELECT count(*) FROM message a WHERE " IS_ANOTHER_ANSWER ")"
        " FROM message m WHERE id = ?1 AND conversation_id = ?2",
    [DB_NEWEST_MESSAGE] = "SELECT max(id) FROM message WHERE conversation_id = ?1",
    [DB_ANSWER] = "SELECT a.id FROM message m, message a WHERE m.id = ?1 AND " IS_ANOTHER_ANSWER
                  " ORDER BY a.id LIMIT 1 OFFSET ?2",
    [DB_NEWEST_BELOW] = "SELECT max(id) FROM message WHERE parent_id = ?1 AND conversation_id = ?2",
    [DB_SUMMARIES] =
        "SELECT id, conversation_id, first_id, last_id, text, method, created_ms FROM summary"
        " WHERE conversation_id = ?1 ORDER BY created_ms, id",
    [DB_DRAFTS] =
        "SELECT id, text, owner, updated_ms FROM draft WHERE conversation_id = ?1 ORDER BY updated_ms DESC, id DESC",
    [DB_NEW_DRAFTS] = /* one whose conversation another program deleted counts too */
        "SELECT id, text, owner, updated_ms FROM draft d WHERE conversation_id IS NULL"
        " OR NOT EXISTS (SELECT 1 FROM conversation c WHERE c.id = d.conversation_id)"
        " ORDER BY updated_ms DESC, id DESC",
    [DB_PROMPTS] = "SELECT text FROM message WHERE role = 1 ORDER BY id DESC",
    [DB_COMMANDS] = "SELECT text FROM command ORDER BY id DESC",

    /* Newest first, in the order of ids, so that the reader can stop early and nothing is sorted. */
    [DB_FIND_INDEXED] =
        "SELECT " FOUND_COLUMNS " FROM message_index i JOIN message m ON m.id = i.rowid"
        " JOIN conversation c ON c.id = m.conversation_id"
        " WHERE i.message_index MATCH ?2 AND (?1 = 0 OR m.conversation_id = ?1) ORDER BY i.rowid DESC",
    [DB_FIND_ALL] =
        "SELECT " FOUND_COLUMNS " FROM message m JOIN conversation c ON c.id = m.conversation_id"
        " WHERE (?1 = 0 OR m.conversation_id = ?1) ORDER BY m.id DESC",
    [DB_FIND_STREAMING] =
        "SELECT " FOUND_COLUMNS " FROM message m JOIN conversation c ON c.id = m.conversation_id"
        " WHERE m.state = 1 AND (?1 = 0 OR m.conversation_id = ?1) ORDER BY m.id DESC",
    [DB_TITLES] = "SELECT id, 0, title, title, created_ms, 0 FROM conversation ORDER BY id DESC",
};
/* clang-format on */

/* What result codes mean to the person, and to us. */
static const struct {
    int code;          /* primary */
    bool stale;        /* opening the file anew may help */
    bool permanent;    /* the write itself is at fault: trying again cannot help */
    const char *words; /* NULL: SQLite's own */
} meanings[] = {
    {SQLITE_FULL, false, false, "the disk is full"},
    {SQLITE_BUSY, false, false, "another program keeps it locked"},
    {SQLITE_LOCKED, false, false, "another program keeps it locked"},
    {SQLITE_READONLY, true, false, "it is read-only"},
    {SQLITE_PERM, true, false, "no permission"},
    {SQLITE_AUTH, true, false, "no permission"},
    {SQLITE_CANTOPEN, true, false, "it cannot be opened"},
    {SQLITE_IOERR, true, false, "the disk reports an error"},
    {SQLITE_CORRUPT, true, false, "the file is damaged"},
    {SQLITE_NOTADB, true, false, "the file is damaged, or no longer a database"},
    {SQLITE_TOOBIG, false, true, "the text is too large"},
    {SQLITE_CONSTRAINT, false, true, NULL},
    {SQLITE_MISMATCH, false, true, NULL},
    {SQLITE_RANGE, false, true, NULL},
    {SQLITE_MISUSE, false, true, NULL},
};

enum db_result db_fail(struct db *db, int rc)
{
    int primary = rc & 0xff, system_error = sqlite3_system_errno(db->handle);
    const char *words = NULL;
    bool permanent = false;
    db->stale = false;
    db->damaged = primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB;
    db->index_suspect |= primary == SQLITE_ERROR; /* our own SQL is right: a table of the index is missing */
    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++) {
        if (meanings[i].code != primary)
            continue;
        words = meanings[i].words;
        permanent = meanings[i].permanent;
        db->stale = meanings[i].stale;
    }
    if (rc == SQLITE_CONSTRAINT_FOREIGNKEY)
        words = "its conversation no longer exists";
    snprintf(db->error, sizeof db->error, "%s: %s", db->path, words ? words : sqlite3_errmsg(db->handle));
    size_t used = strlen(db->error);
    if ((primary == SQLITE_IOERR || primary == SQLITE_CANTOPEN) && system_error)
        snprintf(db->error + used, sizeof db->error - used, " (%s)", strerror(system_error));
    if (!db->previewing && db->handle && !sqlite3_get_autocommit(db->handle))
        db_run(db->statements[DB_ROLLBACK]);
    return permanent ? DB_REFUSED : DB_FAILED;
}

sqlite3_stmt *db_bind(struct db *db, enum db_statement which, const char *types, ...)
{
    sqlite3_stmt *stmt = db->statements[which];
    va_list args;
    va_start(args, types);
    sqlite3_reset(stmt);
    for (int i = 1; *types; i++, types++) {
        int64_t id;
        switch (*types) {
        case 'd': sqlite3_bind_int(stmt, i, va_arg(args, int)); break;
        case 'i': sqlite3_bind_int64(stmt, i, va_arg(args, int64_t)); break;
        case 'n':
            id = va_arg(args, int64_t);
            if (id)
                sqlite3_bind_int64(stmt, i, id);
            else
                sqlite3_bind_null(stmt, i);
            break;
        case 'r': sqlite3_bind_double(stmt, i, va_arg(args, double)); break;
        case 't': /* the caller's text outlives the step; a NULL pointer binds NULL */
            sqlite3_bind_text(stmt, i, va_arg(args, const char *), -1, SQLITE_STATIC);
            break;
        }
    }
    va_end(args);
    return stmt;
}

bool db_row(sqlite3_stmt *stmt, int *rc)
{
    int stepped = sqlite3_step(stmt);
    if (stepped == SQLITE_ROW)
        return true;
    int reset = sqlite3_reset(stmt);
    if (*rc == SQLITE_OK && stepped != SQLITE_DONE)
        *rc = reset != SQLITE_OK ? reset : stepped;
    return false;
}

int db_run(sqlite3_stmt *stmt)
{
    int rc = SQLITE_OK;
    while (db_row(stmt, &rc))
        ;
    return rc;
}

int db_begin(struct db *db, enum db_statement how)
{
    if (!db->previewing && !db->grouping) {
        /* SQLite's lock has no queue: a program with much to write would take it again before others see it free. */
        if (how == DB_BEGIN_WRITE && !db->in_memory && !db->read_only && owner_company(db->lock_fd))
            usleep(DB_TURN_US);
        return db_run(db->statements[how]);
    }
    /* A failure may have ended the transaction of the preview or group; going on without it would write. */
    return sqlite3_get_autocommit(db->handle) ? SQLITE_ABORT : SQLITE_OK;
}

enum db_result db_finish(struct db *db, int rc)
{
    if (rc == SQLITE_OK && !db->previewing && !db->grouping)
        rc = db_run(db->statements[DB_COMMIT]);
    return rc == SQLITE_OK ? DB_OK : db_fail(db, rc);
}

char *db_text(sqlite3_stmt *stmt, int column)
{
    return mem_string((const char *)sqlite3_column_text(stmt, column));
}

/* ---- statements ---- */

int db_prepare(struct db *db)
{
    int rc = SQLITE_OK;
    for (int i = 0; rc == SQLITE_OK && i < DB_N_STATEMENTS; i++)
        if (!db->statements[i] && (i != DB_FIND_INDEXED || !db->index_missing))
            rc = sqlite3_prepare_v3(db->handle, statements[i], -1, SQLITE_PREPARE_PERSISTENT, &db->statements[i],
                                    NULL);
    return rc;
}

void db_unprepare(struct db *db)
{
    for (int i = 0; i < DB_N_STATEMENTS; i++) {
        sqlite3_finalize(db->statements[i]);
        db->statements[i] = NULL;
    }
}

/* ---- writes ---- */

static bool was_deleted(const struct db *db, store_id conversation)
{
    for (size_t i = 0; i < db->n_deleted; i++)
        if (db->deleted[i] == conversation)
            return true;
    return false;
}

/* One statement as a transaction of its own: BEGIN IMMEDIATE all the same, whose wait for another program's lock
 * cannot end in a deadlock. */
static enum db_result write_one(struct db *db, sqlite3_stmt *stmt)
{
    int rc = db_begin(db, DB_BEGIN_WRITE);
    if (rc == SQLITE_OK)
        rc = db_run(stmt);
    return db_finish(db, rc);
}

static int64_t or_now(int64_t ms)
{
    return ms ? ms : clock_wall_ms();
}

enum db_result db_put_conversation(struct db *db, const struct store_conversation *c)
{
    if (was_deleted(db, c->id))
        return DB_OK;
    return write_one(db, db_bind(db, DB_PUT_CONVERSATION, "inttii", c->id, c->leaf, c->title, c->system,
                                 or_now(c->created_ms), clock_wall_ms()));
}

/* The columns that an update changes; the place in the tree is fixed by the first put. */
#define MESSAGE_TYPES "idnttdddrrd"
#define MESSAGE_VALUES(db, m)                                                                                        \
    (m)->id, (int)(m)->state, (m)->state == STORE_STREAMING ? (db)->owner : 0, (m)->text, (m)->model,                \
        (m)->prompt_tokens, (m)->evaluated_tokens, (m)->generated_tokens, (m)->first_token_ms, (m)->decode_ms,       \
        (int)(m)->end

/* A message new to the file. Its conversation or parent may have been deleted by another program meanwhile: what is
 * written from now on is kept all the same, in a conversation that comes back without its past. */
static int insert_message(struct db *db, const struct store_message *m)
{
    int rc = db_run(db_bind(db, DB_ENSURE_CONVERSATION, "iit", m->conversation, clock_wall_ms(), m->text));
    if (rc == SQLITE_OK)
        rc = db_run(db_bind(db, DB_INSERT_MESSAGE, MESSAGE_TYPES "indi", MESSAGE_VALUES(db, m), m->conversation,
                            m->parent, (int)m->role, or_now(m->created_ms)));
    if (rc == SQLITE_OK)
        rc = db_run(db_bind(db, DB_SET_LEAF, "iii", m->conversation, m->id, clock_wall_ms()));
    return rc;
}

enum db_result db_put_message(struct db *db, const struct store_message *m)
{
    if (was_deleted(db, m->conversation))
        return DB_OK;
    db->unsaved |= db->detached;
    int rc = db_begin(db, DB_BEGIN_WRITE);
    if (rc == SQLITE_OK)
        rc = db_run(db_bind(db, DB_UPDATE_MESSAGE, MESSAGE_TYPES, MESSAGE_VALUES(db, m)));
    bool is_new = rc == SQLITE_OK && sqlite3_changes(db->handle) == 0;
    if (is_new)
        rc = insert_message(db, m);
    /* Not for every piece of an answer: that would write one page more, four times a second. */
    if (rc == SQLITE_OK && !is_new && m->state != STORE_STREAMING)
        rc = db_run(db_bind(db, DB_TOUCH, "ii", m->conversation, clock_wall_ms()));
    return db_finish(db, rc);
}

enum db_result db_put_summary(struct db *db, const struct store_summary *s)
{
    if (was_deleted(db, s->conversation))
        return DB_OK;
    return write_one(db, db_bind(db, DB_PUT_SUMMARY, "iinitti", s->id, s->conversation, s->first, s->last, s->text,
                                 s->method, or_now(s->created_ms)));
}

enum db_result db_put_setting(struct db *db, const char *key, const char *value)
{
    return write_one(db, value ? db_bind(db, DB_PUT_SETTING, "tt", key, value)
                               : db_bind(db, DB_REMOVE_SETTING, "t", key));
}

enum db_result db_put_draft(struct db *db, const struct store_draft *d)
{
    if (was_deleted(db, d->conversation))
        return DB_OK;
    return write_one(db, d->text && *d->text ? db_bind(db, DB_PUT_DRAFT, "initi", d->id, d->conversation, db->owner,
                                                       d->text, clock_wall_ms())
                                             : db_bind(db, DB_REMOVE_DRAFT, "i", d->id));
}

enum db_result db_put_command(struct db *db, const char *text)
{
    int rc = db_begin(db, DB_BEGIN_WRITE);
    if (rc == SQLITE_OK)
        rc = db_run(db_bind(db, DB_PUT_COMMAND, "it", store_new_id(), text));
    if (rc == SQLITE_OK)
        rc = db_run(db_bind(db, DB_FORGET_COMMANDS, "d", COMMANDS_MAX));
    return db_finish(db, rc);
}

enum db_result db_rename(struct db *db, store_id conversation, const char *title)
{
    return write_one(db, db_bind(db, DB_RENAME, "it", conversation, title));
}

enum db_result db_set_leaf(struct db *db, store_id conversation, store_id leaf)
{
    return write_one(db, db_bind(db, DB_SET_LEAF, "ini", conversation, leaf, clock_wall_ms()));
}

enum db_result db_set_system(struct db *db, store_id conversation, const char *system)
{
    return write_one(db, db_bind(db, DB_SET_SYSTEM, "iti", conversation, system, clock_wall_ms()));
}

enum db_result db_group_begin(struct db *db)
{
    int rc = db_begin(db, DB_BEGIN_WRITE);
    db->grouping = rc == SQLITE_OK;
    return db->grouping ? DB_OK : db_fail(db, rc);
}

enum db_result db_group_end(struct db *db, enum db_result worst)
{
    if (!db->grouping)
        return worst;
    db->grouping = false;
    if (worst == DB_OK)
        return db_finish(db, SQLITE_OK);
    if (!sqlite3_get_autocommit(db->handle))
        db_run(db->statements[DB_ROLLBACK]);
    return worst;
}

enum db_result db_delete(struct db *db, store_id conversation)
{
    int rc = db_begin(db, DB_BEGIN_WRITE);
    if (rc == SQLITE_OK)
        rc = db_run(db_bind(db, DB_DELETE_MESSAGES, "i", conversation));
    if (rc == SQLITE_OK)
        rc = db_run(db_bind(db, DB_DELETE_DRAFTS, "i", conversation));
    if (rc == SQLITE_OK)
        rc = db_run(db_bind(db, DB_DELETE_CONVERSATION, "i", conversation));
    /* Nothing of the text may stay in the file: neither in the search index nor in the journal that is kept. */
    if (rc == SQLITE_OK && !db->previewing && !db->index_missing)
        rc = search_index_forget(db->handle);
    sqlite3_exec(db->handle, "PRAGMA journal_size_limit = 0", NULL, NULL, NULL);
    enum db_result result = db_finish(db, rc);
    sqlite3_exec(db->handle, "PRAGMA journal_size_limit = " DB_JOURNAL_KEPT, NULL, NULL, NULL);
    if (result == DB_OK && !db->previewing && !was_deleted(db, conversation)) {
        db->deleted = mem_append(db->deleted, db->n_deleted, sizeof *db->deleted);
        db->deleted[db->n_deleted++] = conversation;
    }
    return result;
}

/* ---- a preview of writes that fail ---- */

bool db_preview_begin(struct db *db)
{
    sqlite3_busy_timeout(db->handle, 0); /* if a lock is why the writes fail, the query need not wait for it too */
    sqlite3_exec(db->handle, "PRAGMA journal_mode = MEMORY; PRAGMA cache_spill = OFF", NULL, NULL, NULL);
    db->previewing = db_run(db->statements[DB_BEGIN_WRITE]) == SQLITE_OK;
    return db->previewing;
}

void db_preview_end(struct db *db)
{
    if (!sqlite3_get_autocommit(db->handle))
        db_run(db->statements[DB_ROLLBACK]);
    db->previewing = false;
    sqlite3_exec(db->handle, "PRAGMA journal_mode = PERSIST; PRAGMA cache_spill = ON", NULL, NULL, NULL);
    db_wait_for_locks(db);
}
