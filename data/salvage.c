/* salvage.c - see salvage.h. */
#include "salvage.h"

#include "../src/base/mem.h"

#include "carve.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TABLES 16
#define NAME_MAX_LEN 40

struct column {
    char name[NAME_MAX_LEN];
    char type; /* I, R, T or B, of INTEGER, REAL, TEXT and BLOB */
    bool not_null;
    bool is_rowid; /* INTEGER PRIMARY KEY of a table with rowids: a record holds NULL in its place */
};

struct table {
    char name[NAME_MAX_LEN];
    struct column columns[CARVE_MAX_COLUMNS];
    size_t n, n_required; /* n_required: without the columns at the end that later versions added with a default */
    bool without_rowid;
    sqlite3_stmt *insert[CARVE_MAX_COLUMNS + 1]; /* by the number of columns */
};

struct salvage {
    sqlite3 *into, *from; /* from: NULL where SQLite cannot open the damaged file */
    struct table tables[MAX_TABLES];
    size_t n_tables;
    int rc; /* the first failure of `into` */
};

/* Queries for message ids outside the table's own pages. Each id is then looked up in `message`. */
static const char *const message_ids[] = {
    "SELECT id FROM message INDEXED BY message_conversation",
    "SELECT id FROM message INDEXED BY message_parent",
    "SELECT parent_id FROM message INDEXED BY message_parent WHERE parent_id IS NOT NULL",
    "SELECT id FROM message_index_docsize",
    "SELECT leaf_id FROM conversation WHERE leaf_id IS NOT NULL",
};

/* Collects ids in a temporary table, so that each lost message counts once. */
static const char *const begin_sql = "PRAGMA foreign_keys = OFF;"
                                     "CREATE TEMP TABLE named(id INTEGER PRIMARY KEY);"
                                     "BEGIN IMMEDIATE";

/* Every parent must be older than its children, which rules out cycles. */
static const char *const mend_sql =
    "INSERT OR IGNORE INTO temp.named SELECT parent_id FROM main.message WHERE parent_id IS NOT NULL;"
    "UPDATE main.message SET parent_id = (SELECT max(p.id) FROM main.message p"
    "  WHERE p.conversation_id = message.conversation_id AND p.id < message.id)"
    "  WHERE parent_id >= id OR parent_id NOT IN (SELECT id FROM main.message);"
    "INSERT INTO main.conversation(id, leaf_id, title, created_ms, updated_ms)"
    "  SELECT conversation_id, max(id), 'Recovered conversation', min(created_ms), max(created_ms) FROM main.message"
    "  WHERE conversation_id NOT IN (SELECT id FROM main.conversation) GROUP BY conversation_id;"
    "DELETE FROM main.summary WHERE conversation_id NOT IN (SELECT id FROM main.conversation);";

static int exec(sqlite3 *db, const char *sql)
{
    return sqlite3_exec(db, sql, NULL, NULL, NULL);
}

static int read_int(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *stmt = NULL;
    int value = 0;
    if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW)
        value = sqlite3_column_int(stmt, 0);
    sqlite3_finalize(stmt);
    return value;
}

/* ---- the tables to fill ---- */

static void describe_columns(struct salvage *s, struct table *t)
{
    char sql[160];
    sqlite3_stmt *stmt = NULL;
    snprintf(sql, sizeof sql, "PRAGMA table_info(%s)", t->name);
    if (sqlite3_prepare_v2(s->into, sql, -1, &stmt, NULL) != SQLITE_OK)
        return;
    for (; t->n < CARVE_MAX_COLUMNS && sqlite3_step(stmt) == SQLITE_ROW; t->n++) {
        struct column *c = &t->columns[t->n];
        snprintf(c->name, sizeof c->name, "%s", (const char *)sqlite3_column_text(stmt, 1));
        c->type = ((const char *)sqlite3_column_text(stmt, 2))[0];
        c->is_rowid = sqlite3_column_int(stmt, 5) && c->type == 'I' && !t->without_rowid;
        c->not_null = sqlite3_column_int(stmt, 3) || (sqlite3_column_int(stmt, 5) && !c->is_rowid);
        if (sqlite3_column_type(stmt, 4) == SQLITE_NULL)
            t->n_required = t->n + 1;
    }
    sqlite3_finalize(stmt);
}

/* All ordinary tables of the schema; the search index makes its own. */
static int describe_tables(struct salvage *s)
{
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(s->into,
                                "SELECT name, sql LIKE '%WITHOUT ROWID%' FROM main.sqlite_schema WHERE type = 'table'"
                                " AND name NOT GLOB 'sqlite_*' AND name NOT GLOB 'message_index*'",
                                -1, &stmt, NULL);
    while (rc == SQLITE_OK && s->n_tables < MAX_TABLES && sqlite3_step(stmt) == SQLITE_ROW) {
        struct table *t = &s->tables[s->n_tables++];
        snprintf(t->name, sizeof t->name, "%s", (const char *)sqlite3_column_text(stmt, 0));
        t->without_rowid = sqlite3_column_int(stmt, 1);
        describe_columns(s, t);
    }
    sqlite3_finalize(stmt);
    return rc;
}

static struct table *table_named(struct salvage *s, const char *name)
{
    for (size_t i = 0; i < s->n_tables; i++)
        if (strcmp(s->tables[i].name, name) == 0)
            return &s->tables[i];
    return NULL;
}

/* "a, b, c": the first n columns. malloc'd. */
static char *column_list(const struct table *t, size_t n)
{
    char *list = mem_new(n, NAME_MAX_LEN + 2), *end = list;
    for (size_t i = 0; i < n; i++)
        end += sprintf(end, "%s%s", i ? ", " : "", t->columns[i].name);
    return list;
}

/* The statement that inserts the table's first n columns unless the key exists. NULL if it cannot be prepared. */
static sqlite3_stmt *insertion(struct salvage *s, struct table *t, size_t n)
{
    if (t->insert[n])
        return t->insert[n];
    char *columns = column_list(t, n), *marks = mem_new(n, 2);
    for (size_t i = 0; i < n; i++)
        memcpy(marks + 2 * i, i + 1 < n ? "?," : "?", i + 1 < n ? 2 : 1);
    char *sql = mem_printf("INSERT OR IGNORE INTO main.%s(%s) VALUES(%s)", t->name, columns, marks);
    int rc = sqlite3_prepare_v2(s->into, sql, -1, &t->insert[n], NULL);
    if (rc != SQLITE_OK && s->rc == SQLITE_OK)
        s->rc = rc;
    free(sql);
    free(marks);
    free(columns);
    return t->insert[n];
}

/* Skips a row that violates a constraint; any other failure, such as a full disk, ends the salvage. */
static void insert(struct salvage *s, sqlite3_stmt *stmt)
{
    int rc = sqlite3_step(stmt);
    sqlite3_reset(stmt);
    sqlite3_clear_bindings(stmt);
    rc &= 0xff;
    bool refused = rc == SQLITE_CONSTRAINT || rc == SQLITE_MISMATCH || rc == SQLITE_TOOBIG;
    if (rc != SQLITE_DONE && !refused && s->rc == SQLITE_OK)
        s->rc = rc;
}

/* ---- what SQLite can read ---- */

/* The number of the table's columns in the damaged file: an earlier schema version has fewer. 0 if unknown. */
static size_t columns_there(struct salvage *s, const struct table *t)
{
    char sql[160];
    snprintf(sql, sizeof sql, "SELECT count(*) FROM pragma_table_info('%s')", t->name);
    size_t n = (size_t)read_int(s->from, sql);
    return n < t->n_required ? 0 : n > t->n ? t->n : n;
}

/* Copies the rows of a query until it ends or fails. */
static void copy_rows(struct salvage *s, struct table *t, size_t n, sqlite3_stmt *rows)
{
    sqlite3_stmt *put = insertion(s, t, n);
    while (put && s->rc == SQLITE_OK && sqlite3_step(rows) == SQLITE_ROW) {
        for (size_t i = 0; i < n; i++)
            sqlite3_bind_value(put, (int)i + 1, sqlite3_column_value(rows, (int)i));
        insert(s, put);
    }
    sqlite3_reset(rows);
}

static sqlite3_stmt *selection(struct salvage *s, const struct table *t, size_t n, const char *rest)
{
    sqlite3_stmt *stmt = NULL;
    char *columns = column_list(t, n), *sql = mem_printf("SELECT %s FROM %s %s", columns, t->name, rest);
    sqlite3_prepare_v2(s->from, sql, -1, &stmt, NULL);
    free(sql);
    free(columns);
    return stmt;
}

/* Scans from both ends, because a scan stops at the first damaged page. */
static void copy_table(struct salvage *s, struct table *t)
{
    static const char *const orders[] = {"ORDER BY 1", "ORDER BY 1 DESC"};
    size_t n = columns_there(s, t);
    for (size_t i = 0; n && i < sizeof orders / sizeof *orders; i++) {
        sqlite3_stmt *rows = selection(s, t, n, orders[i]);
        if (rows)
            copy_rows(s, t, n, rows);
        sqlite3_finalize(rows);
    }
}

/* Inserts the ids that a query returns, until it ends or fails, into temp.named. */
static void note_ids(struct salvage *s, const char *sql)
{
    sqlite3_stmt *ids = NULL, *put = NULL;
    if (sqlite3_prepare_v2(s->from, sql, -1, &ids, NULL) == SQLITE_OK &&
        sqlite3_prepare_v2(s->into, "INSERT OR IGNORE INTO temp.named VALUES(?1)", -1, &put, NULL) == SQLITE_OK)
        while (s->rc == SQLITE_OK && sqlite3_step(ids) == SQLITE_ROW) {
            sqlite3_bind_value(put, 1, sqlite3_column_value(ids, 0));
            insert(s, put);
        }
    sqlite3_finalize(ids);
    sqlite3_finalize(put);
}

/* Copies messages between two damaged pages, one by one. */
static void copy_named_messages(struct salvage *s)
{
    struct table *t = table_named(s, "message");
    size_t n = t ? columns_there(s, t) : 0;
    sqlite3_stmt *named = NULL, *row = n ? selection(s, t, n, "WHERE id = ?1") : NULL;
    for (size_t i = 0; i < sizeof message_ids / sizeof *message_ids; i++)
        note_ids(s, message_ids[i]);
    sqlite3_prepare_v2(s->into, "SELECT id FROM temp.named WHERE id NOT IN (SELECT id FROM main.message)", -1, &named,
                       NULL);
    while (row && named && s->rc == SQLITE_OK && sqlite3_step(named) == SQLITE_ROW) {
        sqlite3_bind_int64(row, 1, sqlite3_column_int64(named, 0));
        copy_rows(s, t, n, row);
    }
    sqlite3_finalize(named);
    sqlite3_finalize(row);
}

static void read_with_sqlite(struct salvage *s, const char *path)
{
    if (sqlite3_open_v2(path, &s->from, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL) == SQLITE_OK) {
        exec(s->from, "PRAGMA writable_schema = ON; PRAGMA cell_size_check = OFF"); /* tolerate inconsistencies */
        exec(s->from, "BEGIN");
        for (size_t i = 0; i < s->n_tables; i++)
            copy_table(s, &s->tables[i]);
        copy_named_messages(s);
    }
    sqlite3_close(s->from);
}

/* ---- rows carved from the pages ---- */

static bool fits(const struct column *c, const struct carve_value *v)
{
    switch (v->type) {
    case CARVE_NULL: return c->is_rowid || !c->not_null;
    case CARVE_INT: return (c->type == 'I' && !c->is_rowid) || c->type == 'R';
    case CARVE_REAL: return c->type == 'R';
    case CARVE_TEXT: return c->type == 'T';
    default: return c->type == 'B';
    }
}

/* The only table whose columns fit the row, or NULL. */
static struct table *table_of(struct salvage *s, const struct carve_row *row)
{
    for (size_t i = 0; i < s->n_tables; i++) {
        struct table *t = &s->tables[i];
        if (row->has_rowid == t->without_rowid || row->n < t->n_required || row->n > t->n)
            continue;
        size_t k = 0;
        while (k < row->n && fits(&t->columns[k], &row->values[k]))
            k++;
        if (k == row->n)
            return t;
    }
    return NULL;
}

static void bind(sqlite3_stmt *stmt, int at, const struct carve_value *v)
{
    switch (v->type) {
    case CARVE_NULL: sqlite3_bind_null(stmt, at); break;
    case CARVE_INT: sqlite3_bind_int64(stmt, at, v->i); break;
    case CARVE_REAL: sqlite3_bind_double(stmt, at, v->r); break;
    case CARVE_TEXT: sqlite3_bind_text(stmt, at, v->bytes, (int)v->len, SQLITE_STATIC); break;
    case CARVE_BLOB: sqlite3_bind_blob(stmt, at, v->bytes, (int)v->len, SQLITE_STATIC); break;
    }
}

static void take_row(void *ctx, const struct carve_row *row)
{
    struct salvage *s = ctx;
    struct table *t = table_of(s, row);
    sqlite3_stmt *put = t && s->rc == SQLITE_OK ? insertion(s, t, row->n) : NULL;
    if (!put)
        return;
    for (size_t i = 0; i < row->n; i++) {
        if (t->columns[i].is_rowid)
            sqlite3_bind_int64(put, (int)i + 1, row->rowid);
        else
            bind(put, (int)i + 1, &row->values[i]);
    }
    insert(s, put);
}

/* ---- public ---- */

int salvage(const char *path, sqlite3 *into, struct salvage_report *report)
{
    struct salvage *s = mem_new(1, sizeof *s);
    s->into = into;
    s->rc = exec(into, begin_sql);
    if (s->rc == SQLITE_OK)
        s->rc = describe_tables(s);
    if (s->rc == SQLITE_OK)
        read_with_sqlite(s, path);
    if (s->rc == SQLITE_OK)
        carve(path, take_row, s);
    if (s->rc == SQLITE_OK)
        s->rc = exec(into, mend_sql);
    *report = (struct salvage_report){
        .conversations = read_int(into, "SELECT count(*) FROM main.conversation"),
        .messages = read_int(into, "SELECT count(*) FROM main.message"),
        .settings = read_int(into, "SELECT count(*) FROM main.setting"),
        .lost = read_int(into, "SELECT count(*) FROM temp.named WHERE id NOT IN (SELECT id FROM main.message)"),
    };
    for (size_t i = 0; i < s->n_tables; i++)
        for (size_t k = 0; k <= CARVE_MAX_COLUMNS; k++)
            sqlite3_finalize(s->tables[i].insert[k]);
    int rc = s->rc;
    if (rc == SQLITE_OK)
        rc = exec(into, "COMMIT; DROP TABLE temp.named; PRAGMA foreign_keys = ON");
    if (rc != SQLITE_OK && !sqlite3_get_autocommit(into))
        exec(into, "ROLLBACK");
    free(s);
    return rc;
}
