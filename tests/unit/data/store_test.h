/* store_test.h - what the store's tests share: a directory per test, events that must come, rows put and read in a
 * line. */
#ifndef STORE_TEST_H
#define STORE_TEST_H

#include "../../../data/store.h"

#include <ftw.h>
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define PATIENCE_MS 20000 /* for an event that must come, on a busy machine */
#define QUIET_MS 100      /* for one that must not */

static char test_dir[64], test_db[128], test_err[1024];

static inline int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st, (void)type, (void)at;
    return remove(path);
}

static inline int make_dir(void **state)
{
    (void)state;
    strcpy(test_dir, "/tmp/chinwag-store-XXXXXX");
    assert_non_null(mkdtemp(test_dir));
    snprintf(test_db, sizeof test_db, "%s/chinwag.db", test_dir);
    return 0;
}

static inline int remove_dir(void **state)
{
    (void)state;
    char mounted[80]; /* what a test that failed may have left */
    snprintf(mounted, sizeof mounted, "%s/mnt", test_dir);
    umount2(mounted, MNT_DETACH);
    umount2(test_dir, MNT_DETACH);
    return nftw(test_dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* The next event but STORE_SAVED; NULL when there is none for so long. */
static inline struct store_event *next_event(struct store *s, int timeout_ms)
{
    struct store_event *e;
    while ((e = store_wait(s, timeout_ms)) && e->type == STORE_SAVED)
        store_event_free(e);
    return e;
}

/* The next event but STORE_SAVED, which must be of this type. */
static inline struct store_event *expect(struct store *s, enum store_event_type type)
{
    struct store_event *e = next_event(s, PATIENCE_MS);
    assert_non_null(e);
    if (e->type != type && e->text)
        print_message("unexpected event: %s\n", e->text);
    assert_int_equal(e->type, type);
    return e;
}

/* The next event of this type; others are skipped. */
static inline struct store_event *await(struct store *s, enum store_event_type type)
{
    for (;;) {
        struct store_event *e = store_wait(s, PATIENCE_MS);
        assert_non_null(e);
        if (e->type == type)
            return e;
        store_event_free(e);
    }
}

static inline void drop(struct store *s, enum store_event_type type)
{
    store_event_free(expect(s, type));
}

static inline struct store *open_at(const char *path)
{
    *test_err = '\0';
    struct store *s = store_open(path, NULL, NULL, test_err, sizeof test_err);
    assert_string_equal(test_err, "");
    assert_non_null(s);
    drop(s, STORE_SETTINGS);
    return s;
}

static inline void close_ok(struct store *s)
{
    *test_err = '\0';
    assert_true(store_close(s, test_err, sizeof test_err));
    assert_string_equal(test_err, "");
}

static inline void put_conversation(struct store *s, store_id id, store_id leaf, const char *title)
{
    struct store_conversation c = {.id = id, .leaf = leaf, .title = (char *)title};
    store_put_conversation(s, &c); /* of an existing conversation only the leaf changes */
    store_set_leaf(s, id, leaf);
}

static inline void put_state(struct store *s, store_id id, store_id conversation, store_id parent,
                             enum store_state state, const char *text)
{
    struct store_message m = {.id = id,
                              .conversation = conversation,
                              .parent = parent,
                              .role = STORE_ASSISTANT,
                              .state = state,
                              .text = (char *)text};
    store_put_message(s, &m);
}

static inline void put_message(struct store *s, store_id id, store_id conversation, store_id parent, const char *text)
{
    put_state(s, id, conversation, parent, STORE_COMPLETE, text);
}

static inline struct store_event *load(struct store *s, store_id conversation)
{
    store_load(s, conversation, 0);
    return expect(s, STORE_LOADED);
}

/* The path of a conversation must be these ids, 0 at the end. */
static inline void expect_path(struct store *s, store_id conversation, ...)
{
    struct store_event *e = load(s, conversation);
    va_list ids;
    va_start(ids, conversation);
    for (size_t i = 0; i < e->n; i++)
        assert_int_equal(e->messages[i].id, va_arg(ids, int));
    assert_int_equal(va_arg(ids, int), 0);
    va_end(ids);
    store_event_free(e);
}

/* The messages found must be these ids, 0 at the end; a title counts as TITLE. */
#define TITLE (-1)
static inline void expect_found(struct store *s, const char *query, store_id conversation, ...)
{
    store_search(s, query, conversation, 0);
    struct store_event *e = expect(s, STORE_FOUND);
    assert_string_equal(e->text, query);
    va_list ids;
    va_start(ids, conversation);
    for (size_t i = 0; i < e->n; i++) {
        int id = va_arg(ids, int);
        assert_int_equal(e->hits[i].message, id == TITLE ? 0 : id);
    }
    assert_int_equal(va_arg(ids, int), 0);
    va_end(ids);
    store_event_free(e);
}

/* Runs SQL on a file of its own connection; the first column of the last row, as text. malloc'd, NULL without a
 * row. */
static inline char *sql_text(const char *path, const char *sql)
{
    sqlite3 *db;
    sqlite3_stmt *stmt;
    char *result = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    sqlite3_busy_timeout(db, PATIENCE_MS);
    for (const char *rest = sql; *rest;) {
        if (sqlite3_prepare_v2(db, rest, -1, &stmt, &rest) != SQLITE_OK)
            fail_msg("%s: %s", sql, sqlite3_errmsg(db));
        int rc;
        while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
            const char *text = (const char *)sqlite3_column_text(stmt, 0);
            free(result);
            result = text ? strdup(text) : NULL;
        }
        if (rc != SQLITE_DONE)
            fail_msg("%s: %s", sql, sqlite3_errmsg(db));
        sqlite3_finalize(stmt);
    }
    sqlite3_close(db);
    return result;
}

static inline void expect_sql(const char *path, const char *sql, const char *expected)
{
    char *got = sql_text(path, sql);
    if (expected)
        assert_string_equal(got ? got : "(nothing)", expected);
    free(got);
}

/* Every page, every reference, and the search index against the texts. */
static inline void expect_sound(const char *path)
{
    expect_sql(path, "PRAGMA integrity_check", "ok");
    expect_sql(path, "SELECT 'good'; PRAGMA foreign_key_check", "good");
    expect_sql(path, "INSERT INTO message_index(message_index, rank) VALUES('integrity-check', 1); SELECT 'same'",
               "same");
}

#endif
