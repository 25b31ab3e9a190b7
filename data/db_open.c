/*
 * db_open.c - opening and closing a connection (see db.h), whatever state its file is in:
 *
 *   sound           opened and migrated; answers that a killed program left streaming are marked
 *   index damaged   the search index is dropped; db_build_index builds it again
 *   damaged         repair.h puts the file aside and a new one with all that can be read in its place
 *   read-only       opened for reading; the first write moves the connection to a copy in memory
 *   read-only, and damaged or of an earlier version: salvaged, or copied and migrated, in memory
 */
#include "db.h"

#include "../src/base/clock.h"
#include "../src/base/mem.h"

#include "carve.h"
#include "db_file.h"
#include "owner.h"
#include "repair.h"
#include "salvage.h"
#include "schema.h"
#include "search_index.h"
#include "vfs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BUSY_MS 2500 /* patience with another program's lock, per attempt */

static const char *const pragmas =
    "PRAGMA foreign_keys = ON;"
    "PRAGMA synchronous = NORMAL;" /* see db.h */
    "PRAGMA cell_size_check = ON;"
    "PRAGMA temp_store = MEMORY;" /* no text in files but ours, none needed when full */
    "PRAGMA secure_delete = ON;"
    "PRAGMA journal_size_limit = " DB_JOURNAL_KEPT;

/* SQLITE_ERROR too: our own SQL is right, so the file lacks something or has an unknown format. */
static bool is_damage(int rc)
{
    return (rc & 0xff) == SQLITE_CORRUPT || (rc & 0xff) == SQLITE_NOTADB || (rc & 0xff) == SQLITE_ERROR;
}

static bool is_busy(int rc)
{
    return (rc & 0xff) == SQLITE_BUSY || (rc & 0xff) == SQLITE_LOCKED;
}

/* SQLite calls this while another program holds a lock. SQLite's own handler soon looks only ten times a second and
 * may never meet a lock that is free for a millisecond now and then. */
static int wait_turn(void *ctx, int times)
{
    struct db *db = ctx;
    if (times == 0)
        db->busy_since_ms = clock_ms();
    if (clock_ms() - db->busy_since_ms >= BUSY_MS || (db->hurry && atomic_load(db->hurry)))
        return 0;
    usleep(DB_TURN_US / 2 + (useconds_t)(times * 7 % 10) * DB_TURN_US / 10);
    return 1;
}

void db_wait_for_locks(struct db *db)
{
    sqlite3_busy_handler(db->handle, wait_turn, db);
}

static int configure(struct db *db, char *err, size_t cap)
{
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_exec(db->handle, pragmas, NULL, NULL, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_prepare_v2(db->handle, "PRAGMA journal_mode = PERSIST", -1, &stmt, NULL);
    if (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        const char *mode = (const char *)sqlite3_column_text(stmt, 0);
        rc = SQLITE_OK;
        if (mode && strcmp(mode, "wal") == 0) { /* another program's choice, and it is at work */
            snprintf(err, cap, "%s: another program has it open in WAL mode", db->path);
            rc = SQLITE_BUSY;
        }
    }
    sqlite3_finalize(stmt);
    return rc;
}

/* Marks answers that a killed program left streaming. Where the disk is full the next store does it; until then
 * db_load reports them as interrupted. */
static void interrupt_orphans(struct db *db)
{
    store_id *dead = NULL;
    size_t n = 0;
    int rc = SQLITE_OK;
    sqlite3_stmt *stmt = db_bind(db, DB_STREAMING_OWNERS, "");
    while (db_row(stmt, &rc)) {
        store_id owner = sqlite3_column_int64(stmt, 0);
        if (owner == db->owner || owner_alive(db->lock_fd, owner))
            continue;
        dead = mem_append(dead, n, sizeof *dead);
        dead[n++] = owner;
    }
    if (rc == SQLITE_OK && n > 0 && (rc = db_run(db->statements[DB_BEGIN_WRITE])) == SQLITE_OK) {
        for (size_t i = 0; rc == SQLITE_OK && i < n; i++)
            rc = db_run(db_bind(db, DB_INTERRUPT, "n", dead[i]));
        db_finish(db, rc);
    }
    free(dead);
}

/* ---- the search index ---- */

/* Whether the file's pages and tables are sound; what is wrong within the search index does not count. */
static bool is_sound(sqlite3 *handle)
{
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(handle, "PRAGMA integrity_check", -1, &stmt, NULL);
    bool sound = rc == SQLITE_OK;
    while (sound && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        const char *line = (const char *)sqlite3_column_text(stmt, 0);
        sound = line && (strcmp(line, "ok") == 0 || strstr(line, "FTS5") || strstr(line, "message_index"));
    }
    sqlite3_finalize(stmt);
    return sound && rc == SQLITE_DONE;
}

static bool has_messages(sqlite3 *handle)
{
    sqlite3_stmt *stmt = NULL;
    bool has = sqlite3_prepare_v2(handle, "SELECT 1 FROM message LIMIT 1", -1, &stmt, NULL) != SQLITE_OK ||
               sqlite3_step(stmt) == SQLITE_ROW;
    sqlite3_finalize(stmt);
    return has;
}

/* Drops an index that is damaged or of another version: every write would fail in its triggers. Never writes into a
 * file whose pages are damaged. */
static int check_index(struct db *db, bool suspect)
{
    enum search_index_state state = suspect ? SEARCH_INDEX_DAMAGED : search_index_check(db->handle);
    if (state == SEARCH_INDEX_DAMAGED || state == SEARCH_INDEX_OUTDATED) {
        if (!is_sound(db->handle))
            return SQLITE_CORRUPT;
        int rc = search_index_drop(db->handle);
        if (rc != SQLITE_OK)
            return rc;
        if (!db->notice && state == SEARCH_INDEX_DAMAGED)
            db->notice = mem_printf("%s: the search index is built again; no message is affected.", db->path);
    }
    db->index_missing = state != SEARCH_INDEX_READY;
    if (db->index_missing && !has_messages(db->handle)) /* a new file */
        db->index_missing = search_index_build(db->handle) != SQLITE_OK;
    return SQLITE_OK;
}

bool db_build_index(struct db *db)
{
    int rc = search_index_build(db->handle);
    if (rc != SQLITE_OK) {
        db_fail(db, rc);
        return false;
    }
    db->index_missing = false;
    rc = db_prepare(db);
    if (rc != SQLITE_OK)
        db_fail(db, rc);
    return rc == SQLITE_OK;
}

/* ---- a file that cannot be written ---- */

static int open_memory(struct db *db)
{
    int rc = sqlite3_open_v2(":memory:", &db->handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    if (rc == SQLITE_OK)
        sqlite3_extended_result_codes(db->handle, 1);
    return rc;
}

/* Moves the connection from the file to a copy of it in memory. */
static int copy_to_memory(struct db *db)
{
    sqlite3 *file = db->handle;
    int rc = open_memory(db);
    sqlite3_backup *backup = rc == SQLITE_OK ? sqlite3_backup_init(db->handle, "main", file, "main") : NULL;
    if (backup) {
        while ((rc = sqlite3_backup_step(backup, -1)) == SQLITE_BUSY || rc == SQLITE_LOCKED)
            if (!wait_turn(db, 1))
                break;
        int finished = sqlite3_backup_finish(backup);
        rc = rc == SQLITE_DONE ? finished : rc;
    } else if (rc == SQLITE_OK) {
        rc = sqlite3_errcode(db->handle);
    }
    sqlite3_close(rc == SQLITE_OK ? file : db->handle);
    if (rc != SQLITE_OK)
        db->handle = file;
    db->detached = rc == SQLITE_OK;
    return rc;
}

bool db_make_writable(struct db *db)
{
    char err[sizeof db->error] = "";
    if (!db->read_only || db->detached)
        return true;
    db_unprepare(db);
    db->busy_since_ms = clock_ms();
    int rc = copy_to_memory(db);
    if (rc == SQLITE_OK)
        rc = configure(db, err, sizeof err);
    int prepared = db_prepare(db); /* of the file again where it could not be copied */
    rc = rc == SQLITE_OK ? prepared : rc;
    if (rc != SQLITE_OK)
        db_fail(db, rc);
    return rc == SQLITE_OK;
}

/* ---- opening ---- */

/* Migrates the file; a read-only one of an earlier version in memory. */
static int prepare_schema(struct db *db, char *err, size_t cap)
{
    int rc = schema_prepare(db->handle, db->path, err, cap);
    if (db->read_only && (rc & 0xff) == SQLITE_READONLY) {
        *err = '\0';
        rc = copy_to_memory(db);
        if (rc == SQLITE_OK)
            rc = schema_prepare(db->handle, db->path, err, cap);
    }
    return rc;
}

/* From an open connection to one that can be used. */
static int set_up(struct db *db, bool suspect, char *err, size_t cap)
{
    int rc = prepare_schema(db, err, cap);
    if (rc == SQLITE_OK)
        rc = configure(db, err, cap);
    if (rc == SQLITE_OK && db->read_only && !db->detached &&
        (suspect || search_index_check(db->handle) != SEARCH_INDEX_READY))
        rc = copy_to_memory(db);
    if (rc == SQLITE_OK)
        rc = check_index(db, suspect);
    if (rc != SQLITE_OK)
        return rc;
    sqlite3_db_config(db->handle, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    return db_prepare(db);
}

/* Takes this store's lock. The file may have been replaced by another program's repair since it was opened. */
static int take_lock(struct db *db, char *err, size_t cap)
{
    const char *real = sqlite3_db_filename(db->handle, "main");
    bool busy;
    int moved = 0;
    db->lock_fd = owner_open(real, db->owner, &busy, err, cap);
    if (db->lock_fd < 0)
        return busy ? SQLITE_BUSY : SQLITE_CANTOPEN;
    if (sqlite3_file_control(db->handle, "main", SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK && moved)
        return SQLITE_BUSY;
    return SQLITE_OK;
}

static int open_as_it_is(struct db *db, bool suspect, char *err, size_t cap)
{
    int mode = db->read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
    int rc = sqlite3_open_v2(db->path, &db->handle, mode | SQLITE_OPEN_NOMUTEX, vfs_name());
    if (rc != SQLITE_OK)
        return rc;
    sqlite3_extended_result_codes(db->handle, 1);
    db_wait_for_locks(db);
    if (db->read_only)
        db->lock_fd = owner_open_read_only(sqlite3_db_filename(db->handle, "main"));
    else if (sqlite3_db_readonly(db->handle, "main") == 1)
        return SQLITE_READONLY;
    rc = set_up(db, suspect, err, cap);
    if (rc != SQLITE_OK || db->read_only)
        return rc;
    db_file_make_private(db->path);
    rc = take_lock(db, err, cap);
    if (rc == SQLITE_OK)
        interrupt_orphans(db);
    return rc;
}

static void close_handle(struct db *db)
{
    db_unprepare(db);
    sqlite3_close(db->handle);
    db->handle = NULL;
    db_release(db);
    db->detached = false;
}

/* A damaged file that cannot be replaced: what can be read of it, in memory. */
static int open_salvaged(struct db *db, char *err, size_t cap)
{
    struct salvage_report report;
    int rc = open_memory(db);
    if (rc == SQLITE_OK)
        rc = schema_prepare(db->handle, db->path, err, cap);
    if (rc == SQLITE_OK)
        rc = salvage(db->path, db->handle, &report);
    if (rc != SQLITE_OK)
        return rc;
    if (!repair_is_ours(db->path, &report)) {
        snprintf(err, cap, REPAIR_NOT_OURS, db->path);
        return SQLITE_NOTADB;
    }
    db->read_only = db->detached = true;
    free(db->notice);
    db->notice = repair_notice(db->path, &report, NULL);
    return set_up(db, false, err, cap);
}

/* Replaces a damaged file, or reads it into memory where that cannot be. */
static int open_damaged(struct db *db, char *err, size_t cap)
{
    int rc = SQLITE_READONLY;
    close_handle(db);
    if (!db->read_only) {
        char *notice = NULL;
        rc = repair_file(db->path, &notice, err, cap);
        if (rc == SQLITE_OK) {
            free(db->notice);
            db->notice = notice;
            *err = '\0';
            return open_as_it_is(db, false, err, cap);
        }
    }
    if (is_busy(rc) || rc == SQLITE_NOTADB)
        return rc;
    if (!db->read_only)
        snprintf(db->why_read_only, sizeof db->why_read_only, "%s", err);
    *err = '\0';
    return open_salvaged(db, err, cap);
}

/* A file that can only be read, but not where it is: its journal must be played back, or cannot be read. */
static int open_copy(struct db *db, char *err, size_t cap)
{
    close_handle(db);
    char *copy = db_file_copy(db->path, err, cap);
    if (!copy)
        return SQLITE_CANTOPEN;
    *err = '\0';
    int rc = sqlite3_open_v2(copy, &db->handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    if (rc == SQLITE_OK)
        rc = copy_to_memory(db);
    if (rc == SQLITE_OK)
        rc = set_up(db, false, err, cap);
    db_file_remove_copy(copy);
    return rc;
}

static int open_file(struct db *db, const struct db_open_request *request, char *err, size_t cap)
{
    char why[sizeof db->why_read_only] = "";
    enum db_file_access access = db_file_prepare(db->path, request->create, why, sizeof why);
    if (access == DB_FILE_UNUSABLE) {
        snprintf(err, cap, "%s", why);
        return SQLITE_CANTOPEN;
    }
    db->read_only = access == DB_FILE_READ_ONLY;
    memcpy(db->why_read_only, why, sizeof why);
    int rc = SQLITE_CORRUPT;
    if (request->damage != DB_DAMAGED)
        rc = open_as_it_is(db, request->damage == DB_SUSPECT, err, cap);
    if (!db->read_only && (rc & 0xff) == SQLITE_READONLY) {
        if (!carve_can_be_written(db->path)) {
            rc = SQLITE_CORRUPT;
        } else { /* the system forbids what the permissions allow */
            snprintf(db->why_read_only, sizeof db->why_read_only, "%s: it is read-only", db->path);
            db->read_only = true;
            close_handle(db);
            rc = open_as_it_is(db, false, err, cap);
        }
    }
    if (db->read_only && ((rc & 0xff) == SQLITE_READONLY || (rc & 0xff) == SQLITE_CANTOPEN || is_damage(rc)))
        rc = open_copy(db, err, cap);
    return is_damage(rc) ? open_damaged(db, err, cap) : rc;
}

struct db *db_open(const struct db_open_request *request, bool *again, char *err, size_t cap)
{
    struct db *db = mem_new(1, sizeof *db);
    search_index_register();
    db->hurry = request->hurry;
    db->in_memory = !request->path;
    db->path = mem_string(db->in_memory ? ":memory:" : request->path);
    db->lock_fd = -1;
    db->owner = store_new_id();
    *err = '\0';
    int rc = db->in_memory ? open_memory(db) : open_file(db, request, err, cap);
    if (rc == SQLITE_OK && db->in_memory)
        rc = set_up(db, false, err, cap);
    if (rc == SQLITE_OK)
        return db;
    *again = is_busy(rc);
    if (!*err) {
        db_fail(db, rc);
        snprintf(err, cap, "%s", db->error);
    }
    db_close(db);
    return NULL;
}

void db_release(struct db *db)
{
    if (db->lock_fd >= 0)
        close(db->lock_fd);
    db->lock_fd = -1;
}

void db_lock_again(struct db *db)
{
    char ignored[512];
    bool busy;
    db->lock_fd = owner_open(sqlite3_db_filename(db->handle, "main"), db->owner, &busy, ignored, sizeof ignored);
}

void db_close(struct db *db)
{
    if (!db)
        return;
    close_handle(db);
    free(db->path);
    free(db->notice);
    free(db->deleted);
    free(db);
}
