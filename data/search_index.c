/* search_index.c - see search_index.h. */
#include "search_index.h"

#include "../src/base/fold.h"
#include "../src/base/mem.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECURE_DELETE_SINCE 3042000 /* the version of SQLite that has FTS5's secure-delete */
#define PROBED "8"                  /* recent messages among which the check looks for one to ask the index for */

/* The objects in the order in which they are created. */
static const struct {
    const char *type, *name, *sql;
} objects[] = {
    {"VIEW", "message_final", "CREATE VIEW message_final AS SELECT id, text FROM message WHERE state <> 1"},
    {"TABLE", "message_index",
     "CREATE VIRTUAL TABLE message_index USING fts5("
     "  text, content = 'message_final', content_rowid = 'id', tokenize = 'chinwag')"},
    {"TRIGGER", "message_index_insert",
     "CREATE TRIGGER message_index_insert AFTER INSERT ON message WHEN new.state <> 1 BEGIN"
     "  INSERT INTO message_index(rowid, text) VALUES(new.id, new.text);"
     "END"},
    {"TRIGGER", "message_index_delete",
     "CREATE TRIGGER message_index_delete AFTER DELETE ON message WHEN old.state <> 1 BEGIN"
     "  INSERT INTO message_index(message_index, rowid, text) VALUES('delete', old.id, old.text);"
     "END"},
    {"TRIGGER", "message_index_update",
     "CREATE TRIGGER message_index_update AFTER UPDATE OF text, state ON message"
     "  WHEN new.text <> old.text OR (new.state = 1) <> (old.state = 1) BEGIN"
     "  INSERT INTO message_index(message_index, rowid, text)"
     "    SELECT 'delete', old.id, old.text WHERE old.state <> 1;"
     "  INSERT INTO message_index(rowid, text) SELECT new.id, new.text WHERE new.state <> 1;"
     "END"},
};
#define N_OBJECTS (sizeof objects / sizeof *objects)

/* ---- the tokenizer: trigrams of the folded text ---- */

struct tokenizer {
    fts5_tokenizer trigram;
    Fts5Tokenizer *instance; /* of it */
};

static void delete_tokenizer(Fts5Tokenizer *tokenizer)
{
    struct tokenizer *t = (struct tokenizer *)tokenizer;
    if (t->instance)
        t->trigram.xDelete(t->instance);
    free(t);
}

static int create_tokenizer(void *ctx, const char **args, int n_args, Fts5Tokenizer **out)
{
    static const char *folded[] = {"case_sensitive", "1"}; /* the text is already case-folded */
    struct tokenizer *t = mem_new(1, sizeof *t);
    fts5_api *api = ctx;
    void *trigram_ctx;
    (void)args, (void)n_args;
    int rc = api->xFindTokenizer(api, "trigram", &trigram_ctx, &t->trigram);
    if (rc == SQLITE_OK)
        rc = t->trigram.xCreate(trigram_ctx, folded, 2, &t->instance);
    *out = (Fts5Tokenizer *)t;
    if (rc != SQLITE_OK) {
        delete_tokenizer(*out);
        *out = NULL;
    }
    return rc;
}

static int tokenize(Fts5Tokenizer *tokenizer, void *ctx, int flags, const char *text, int n,
                    int (*token)(void *, int, const char *, int, int, int))
{
    const struct tokenizer *t = (const struct tokenizer *)tokenizer;
    size_t units_n;
    char *units = fold_units(text ? text : "", text ? (size_t)n : 0, &units_n);
    int rc = t->trigram.xTokenize(t->instance, ctx, flags, units, (int)units_n, token);
    free(units);
    return rc;
}

/* Called by SQLite for each new connection. https://www.sqlite.org/fts5.html#extending_fts5 */
static int add_tokenizer(sqlite3 *db, char **err, const struct sqlite3_api_routines *unused)
{
    static fts5_tokenizer ours = {create_tokenizer, delete_tokenizer, tokenize};
    fts5_api *api = NULL;
    sqlite3_stmt *stmt = NULL;
    (void)err, (void)unused;
    if (sqlite3_prepare_v2(db, "SELECT fts5(?1)", -1, &stmt, NULL) == SQLITE_OK) {
        sqlite3_bind_pointer(stmt, 1, &api, "fts5_api_ptr", NULL);
        sqlite3_step(stmt);
    }
    sqlite3_finalize(stmt);
    if (api)
        api->xCreateTokenizer(api, "chinwag", api, &ours, NULL);
    return SQLITE_OK; /* without the tokenizer the index counts as damaged, and the search reads the messages */
}

void search_index_register(void)
{
    sqlite3_auto_extension((void (*)(void))add_tokenizer);
}

/* ---- the index ---- */

/* FTS5's shadow tables, dropped by name if the index itself cannot be opened. */
static const char *const shadows[] = {"data", "idx", "docsize", "config", "content"};

static int exec(sqlite3 *db, const char *sql)
{
    return sqlite3_exec(db, sql, NULL, NULL, NULL);
}

/* Ends the transaction: commits where rc is SQLITE_OK. Returns the result of both. */
static int finish(sqlite3 *db, int rc)
{
    if (rc == SQLITE_OK)
        rc = exec(db, "COMMIT");
    if (rc != SQLITE_OK && !sqlite3_get_autocommit(db))
        exec(db, "ROLLBACK");
    return rc;
}

/* Whether all objects exist as defined above. *some: at least one does. */
static int compare_definitions(sqlite3 *db, bool *some, bool *same)
{
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(db, "SELECT sql FROM sqlite_schema WHERE name = ?1", -1, &stmt, NULL);
    *some = false;
    *same = true;
    for (size_t i = 0; rc == SQLITE_OK && i < N_OBJECTS; i++) {
        sqlite3_bind_text(stmt, 1, objects[i].name, -1, SQLITE_STATIC);
        int stepped = sqlite3_step(stmt);
        const char *sql = stepped == SQLITE_ROW ? (const char *)sqlite3_column_text(stmt, 0) : NULL;
        *some |= stepped == SQLITE_ROW;
        *same &= sql && strcmp(sql, objects[i].sql) == 0;
        rc = sqlite3_reset(stmt);
    }
    sqlite3_finalize(stmt);
    return rc;
}

/* Queries the index for a recent message by its first three letters. Returns SQLITE_OK if it is found, or if no recent
 * message begins with three letters. */
static int probe(sqlite3 *db)
{
    static const char *const recent =
        "SELECT id, substr(text, 1, 3) FROM (SELECT id, text FROM message WHERE state <> 1 ORDER BY id DESC"
        " LIMIT " PROBED ") WHERE text GLOB '[a-zA-Z][a-zA-Z][a-zA-Z]*'";
    sqlite3_stmt *messages = NULL, *index = NULL;
    int rc = sqlite3_prepare_v2(db, "SELECT count(*) FROM message_index WHERE message_index MATCH ?2 AND rowid = ?1",
                                -1, &index, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_prepare_v2(db, recent, -1, &messages, NULL);
    if (rc == SQLITE_OK && sqlite3_step(messages) == SQLITE_ROW) {
        sqlite3_bind_int64(index, 1, sqlite3_column_int64(messages, 0));
        sqlite3_bind_text(index, 2, (const char *)sqlite3_column_text(messages, 1), -1, SQLITE_TRANSIENT);
        rc = sqlite3_step(index) == SQLITE_ROW && !sqlite3_column_int(index, 0) ? SQLITE_CORRUPT_VTAB : SQLITE_OK;
        int failed = sqlite3_reset(index);
        rc = rc == SQLITE_OK ? failed : rc;
    }
    sqlite3_finalize(messages);
    sqlite3_finalize(index);
    return rc;
}

enum search_index_state search_index_check(sqlite3 *db)
{
    bool some, same;
    if (compare_definitions(db, &some, &same) != SQLITE_OK)
        return SEARCH_INDEX_READY; /* the schema cannot be read: later queries report that */
    if (!some)
        return SEARCH_INDEX_MISSING;
    if (!same)
        return SEARCH_INDEX_OUTDATED;
    int rc = probe(db) & 0xff;
    return rc == SQLITE_CORRUPT || rc == SQLITE_ERROR ? SEARCH_INDEX_DAMAGED : SEARCH_INDEX_READY;
}

/* Removes an index that cannot be opened: first its schema entry, then the shadow tables, which are ordinary tables
 * without it. */
static int drop_by_force(sqlite3 *db)
{
    int rc = exec(db, "PRAGMA writable_schema = ON");
    if (rc == SQLITE_OK)
        rc = exec(db, "DELETE FROM sqlite_schema WHERE name = 'message_index'");
    exec(db, "PRAGMA writable_schema = RESET");
    for (size_t i = 0; rc == SQLITE_OK && i < sizeof shadows / sizeof *shadows; i++) {
        char sql[80];
        snprintf(sql, sizeof sql, "DROP TABLE IF EXISTS message_index_%s", shadows[i]);
        rc = exec(db, sql);
    }
    return rc;
}

int search_index_drop(sqlite3 *db)
{
    int rc = exec(db, "BEGIN IMMEDIATE");
    for (size_t i = N_OBJECTS; rc == SQLITE_OK && i-- > 0;) {
        char sql[80];
        snprintf(sql, sizeof sql, "DROP %s IF EXISTS %s", objects[i].type, objects[i].name);
        rc = exec(db, sql);
        if (rc != SQLITE_OK && strcmp(objects[i].name, "message_index") == 0)
            rc = drop_by_force(db);
    }
    return finish(db, rc);
}

int search_index_build(sqlite3 *db)
{
    bool some = false, same = false;
    int rc = exec(db, "BEGIN IMMEDIATE");
    if (rc == SQLITE_OK)
        rc = compare_definitions(db, &some, &same);
    for (size_t i = 0; rc == SQLITE_OK && !same && i < N_OBJECTS; i++)
        rc = exec(db, objects[i].sql);
    if (rc == SQLITE_OK && !same && sqlite3_libversion_number() >= SECURE_DELETE_SINCE)
        rc = exec(db, "INSERT INTO message_index(message_index, rank) VALUES('secure-delete', 1)");
    if (rc == SQLITE_OK && !same)
        rc = exec(db, "INSERT INTO message_index(message_index) VALUES('rebuild')");
    return finish(db, rc);
}

/* Whether the index was built with secure-delete, by this version of SQLite or a later one. */
static bool deletes_securely(sqlite3 *db)
{
    sqlite3_stmt *stmt = NULL;
    bool does = sqlite3_libversion_number() >= SECURE_DELETE_SINCE &&
                sqlite3_prepare_v2(db, "SELECT v FROM message_index_config WHERE k = 'secure-delete'", -1, &stmt,
                                   NULL) == SQLITE_OK &&
                sqlite3_step(stmt) == SQLITE_ROW && sqlite3_column_int(stmt, 0);
    sqlite3_finalize(stmt);
    return does;
}

int search_index_forget(sqlite3 *db)
{
    if (deletes_securely(db))
        return SQLITE_OK;
    return exec(db, "INSERT INTO message_index(message_index) VALUES('optimize')");
}
