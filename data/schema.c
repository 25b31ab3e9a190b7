/* schema.c - see schema.h. A change of the schema is one more entry in `migrations`; entries are never edited. */
#include "schema.h"

#include <stdbool.h>
#include <stdio.h>

/* Tables of every version: a file that has them is ours, whatever its header says. */
#define TABLES "'conversation', 'message', 'summary', 'setting'"
#define N_TABLES 4
#define LATER_VERSIONS 20 /* a version further ahead is damage */

/*
 * message.parent_id is deferred and does not cascade: a conversation's messages go in one statement, and a cascade
 * along a chain of a thousand messages would exceed SQLite's trigger depth. conversation.leaf_id is no foreign key,
 * because it may be written before the message it names.
 *
 * Programs of these versions created the search index here too; search_index.h does it now.
 */
static const char version_1[] =
    "CREATE TABLE conversation("
    "  id INTEGER PRIMARY KEY,"
    "  leaf_id INTEGER,"
    "  title TEXT NOT NULL,"
    "  system TEXT,"
    "  created_ms INTEGER NOT NULL,"
    "  updated_ms INTEGER NOT NULL"
    ") STRICT;"
    "CREATE INDEX conversation_updated ON conversation(updated_ms);"

    "CREATE TABLE message("
    "  id INTEGER PRIMARY KEY,"
    "  conversation_id INTEGER NOT NULL REFERENCES conversation(id) ON DELETE CASCADE,"
    "  parent_id INTEGER REFERENCES message(id) DEFERRABLE INITIALLY DEFERRED,"
    "  role INTEGER NOT NULL CHECK(role BETWEEN 0 AND 2),"   /* enum store_role */
    "  state INTEGER NOT NULL CHECK(state BETWEEN 0 AND 2)," /* enum store_state */
    "  owner INTEGER,"                                       /* of a streaming answer: see owner.h */
    "  text TEXT NOT NULL,"
    "  model TEXT,"
    "  created_ms INTEGER NOT NULL,"
    "  prompt_tokens INTEGER NOT NULL,"
    "  evaluated_tokens INTEGER NOT NULL,"
    "  generated_tokens INTEGER NOT NULL,"
    "  first_token_ms REAL NOT NULL,"
    "  decode_ms REAL NOT NULL"
    ") STRICT;"
    "CREATE INDEX message_conversation ON message(conversation_id);"
    "CREATE INDEX message_parent ON message(parent_id);"
    "CREATE INDEX message_streaming ON message(owner) WHERE state = 1;"

    "CREATE TABLE summary("
    "  id INTEGER PRIMARY KEY,"
    "  conversation_id INTEGER NOT NULL REFERENCES conversation(id) ON DELETE CASCADE,"
    "  first_id INTEGER,"
    "  last_id INTEGER NOT NULL,"
    "  text TEXT NOT NULL,"
    "  method TEXT NOT NULL,"
    "  created_ms INTEGER NOT NULL"
    ") STRICT;"
    "CREATE INDEX summary_conversation ON summary(conversation_id);"

    "CREATE TABLE setting(key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;";

/*
 * message.ending says why an answer ended (enum store_end); 0 for messages written by version 1, which did not record
 * it. A draft may belong to a conversation without a row, hence no foreign key; owner names the program that types it
 * (see owner.h). command is the history of slash commands: a person's prompts are in message.
 */
static const char version_2[] = "ALTER TABLE message ADD COLUMN ending INTEGER NOT NULL DEFAULT 0;"

                                "CREATE TABLE draft("
                                "  id INTEGER PRIMARY KEY,"
                                "  conversation_id INTEGER," /* NULL: a conversation without messages */
                                "  owner INTEGER NOT NULL,"
                                "  text TEXT NOT NULL,"
                                "  updated_ms INTEGER NOT NULL"
                                ") STRICT;"
                                "CREATE INDEX draft_conversation ON draft(conversation_id);"

                                "CREATE TABLE command(id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE) STRICT;";

/* migrations[i] takes a file from version i to i + 1. */
static const char *const migrations[] = {version_1, version_2};
#define SCHEMA_VERSION ((int)(sizeof migrations / sizeof *migrations))

static int read_int(sqlite3 *db, const char *sql, int *value)
{
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);
    if (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        *value = sqlite3_column_int(stmt, 0);
        rc = SQLITE_OK;
    }
    sqlite3_finalize(stmt);
    return rc;
}

/* Inside a transaction, so that another program's migration is seen whole or not at all. */
static int read_header(sqlite3 *db, int *application, int *version, int *objects, int *ours)
{
    int rc = read_int(db, "PRAGMA application_id", application);
    if (rc == SQLITE_OK)
        rc = read_int(db, "PRAGMA user_version", version);
    if (rc == SQLITE_OK)
        rc = read_int(db, "SELECT count(*) FROM sqlite_schema", objects);
    if (rc == SQLITE_OK)
        rc = read_int(db, "SELECT count(*) FROM sqlite_schema WHERE name IN (" TABLES ")", ours);
    return rc;
}

/* SQLITE_MISMATCH and err: not for this program. SQLITE_CORRUPT: ours, with a damaged header or schema. */
static int refuse(const char *path, int application, int version, int objects, int ours, char *err, size_t cap)
{
    bool empty = application == 0 && version == 0 && objects == 0;
    if (version < 0 || (!empty && version == 0) || version > SCHEMA_VERSION + LATER_VERSIONS)
        if (application == SCHEMA_APPLICATION_ID || ours == N_TABLES)
            return SQLITE_CORRUPT;
    if (!empty && application != SCHEMA_APPLICATION_ID && ours == N_TABLES)
        return SQLITE_CORRUPT;
    if (!empty && application != SCHEMA_APPLICATION_ID)
        snprintf(err, cap, "%s: is another program's database, not a chinwag one; it was left alone", path);
    else if (version > SCHEMA_VERSION)
        snprintf(err, cap, "%s: was written by a later version of chinwag (schema %d, this one knows %d)", path,
                 version, SCHEMA_VERSION);
    else
        return SQLITE_OK;
    return SQLITE_MISMATCH;
}

static int migrate(sqlite3 *db, int version)
{
    char sql[128];
    int rc = sqlite3_exec(db, migrations[version], NULL, NULL, NULL);
    snprintf(sql, sizeof sql, "PRAGMA application_id = %d; PRAGMA user_version = %d", SCHEMA_APPLICATION_ID,
             version + 1);
    return rc == SQLITE_OK ? sqlite3_exec(db, sql, NULL, NULL, NULL) : rc;
}

/* One look, and at most one migration, in one transaction. *done when the file is of the present version. */
static int step(sqlite3 *db, const char *path, bool writing, bool *done, char *err, size_t cap)
{
    int application = 0, version = 0, objects = 0, ours = 0;
    int rc = sqlite3_exec(db, writing ? "BEGIN IMMEDIATE" : "BEGIN", NULL, NULL, NULL);
    if (rc == SQLITE_OK)
        rc = read_header(db, &application, &version, &objects, &ours);
    if (rc == SQLITE_OK)
        rc = refuse(path, application, version, objects, ours, err, cap);
    *done = version == SCHEMA_VERSION;
    if (rc == SQLITE_OK && writing && !*done)
        rc = migrate(db, version);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
    return rc;
}

int schema_prepare(sqlite3 *db, const char *path, char *err, size_t cap)
{
    bool done = false;
    *err = '\0';
    int rc = step(db, path, false, &done, err, cap);
    while (rc == SQLITE_OK && !done)
        rc = step(db, path, true, &done, err, cap);
    if (rc != SQLITE_OK && !sqlite3_get_autocommit(db))
        sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    return rc;
}
