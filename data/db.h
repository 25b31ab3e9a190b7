/*
 * db.h - one connection and its statements, synchronously; used by one thread at a time.
 *
 * A rollback journal, not a write-ahead log: SQLite before 3.51.3 can corrupt a WAL database when two connections
 * write and checkpoint at once, and Debian 12 has 3.40. The journal persists, so that a commit flushes data and never
 * waits for the file system's own journal to record a new file size.
 *
 * A transaction costs three syncs: the journal before the first page is overwritten, the database, and the journal
 * whose header is then cleared. After the third the transaction survives a power loss. synchronous = FULL would add a
 * fourth between the journal's records and the count of them in its header. With NORMAL a power loss during the first
 * sync may leave records of an older transaction behind a new header. They do no harm: the journal's nonce and the
 * page number before and the checksum after each record are in 4 KiB blocks of their own record, playback stops at the
 * first record whose checksum fails, and the database was not touched yet.
 */
#ifndef DB_H
#define DB_H

#include "store.h"

#include <sqlite3.h>
#include <stdatomic.h>

/* clang-format off */
enum db_statement {
    DB_BEGIN_READ, DB_BEGIN_WRITE, DB_COMMIT, DB_ROLLBACK,
    DB_PUT_CONVERSATION, DB_ENSURE_CONVERSATION, DB_RENAME, DB_SET_SYSTEM, DB_SET_LEAF, DB_TOUCH,
    DB_UPDATE_MESSAGE, DB_INSERT_MESSAGE, DB_PUT_SUMMARY, DB_PUT_SETTING, DB_REMOVE_SETTING,
    DB_PUT_DRAFT, DB_REMOVE_DRAFT, DB_PUT_COMMAND, DB_FORGET_COMMANDS,
    DB_DELETE_MESSAGES, DB_DELETE_DRAFTS, DB_DELETE_CONVERSATION, DB_STREAMING_OWNERS, DB_INTERRUPT,
    DB_SETTINGS, DB_LIST, DB_NEWEST, DB_CONVERSATION, DB_MESSAGE, DB_NEWEST_MESSAGE, DB_ANSWER,
    DB_NEWEST_BELOW, DB_SUMMARIES, DB_DRAFTS, DB_NEW_DRAFTS, DB_PROMPTS, DB_COMMANDS,
    DB_FIND_INDEXED, DB_FIND_ALL, DB_FIND_STREAMING, DB_TITLES,
    DB_N_STATEMENTS
};
/* clang-format on */

enum db_damage {
    DB_SOUND,
    DB_SUSPECT, /* a statement met damage: check the file, and drop the search index if nothing else is damaged */
    DB_DAMAGED, /* that did not help: replace the file */
};

#define DB_JOURNAL_KEPT "1048576" /* bytes of journal kept between transactions */
#define DB_TURN_US 1000           /* how long a lock stays free for others, and how often they look */

struct db {
    sqlite3 *handle;
    sqlite3_stmt *statements
        [DB_N_STATEMENTS]; /* prepared at open: a file that lacks a table fails there; NULL only for the search index */
    char *path;            /* as given; ":memory:" */
    bool in_memory;
    int lock_fd;       /* see owner.h; -1 in memory */
    store_id owner;    /* ours, written beside streaming answers */
    store_id *deleted; /* conversations deleted here: what comes later for them is dropped */
    size_t n_deleted;
    char error[512];          /* the last failure, in words */
    int64_t busy_since_ms;    /* when the present wait for another program's lock began */
    const atomic_bool *hurry; /* see db_open_request */
    bool previewing;          /* between db_preview_begin and db_preview_end */
    bool grouping;            /* between db_group_begin and db_group_end */
    bool stale;               /* the last failure: opening the file again may help */
    bool damaged;             /* the last failure: damage of the file */
    bool read_only;           /* the file cannot be written */
    bool detached;            /* read_only: the connection is to a copy in memory */
    bool unsaved;             /* read_only: a message was put, into memory */
    bool index_missing;       /* the search index is to be built: db_build_index */
    bool index_suspect;       /* a statement met damage in the search index */
    char *notice;             /* what the user should know of the opening; NULL = nothing */
    char why_read_only[512];  /* "" if it is not */
};

enum db_result {
    DB_OK,
    DB_FAILED,  /* may succeed later */
    DB_REFUSED, /* never will */
};

struct db_open_request {
    enum db_damage damage;    /* met since the file was opened last */
    const char *path;         /* NULL: a private database in memory */
    bool create;              /* create a missing file and its directory; false when reopening, where a lost mount
                                  must not be mistaken for an empty database */
    const atomic_bool *hurry; /* set by any thread: stop waiting for other programs' locks; may be NULL */
};

/* Opens the file, migrates it and prepares the statements. Returns NULL and fills err on failure; *again then says
 * whether the same call may succeed later (another program holds a lock). */
struct db *db_open(const struct db_open_request *request, bool *again, char *err, size_t cap);
void db_close(struct db *db); /* NULL is fine */

/* Gives up this store's lock (owner.h) while the file is opened again, and takes it where that failed. */
void db_release(struct db *db);
void db_lock_again(struct db *db);

/* Before a write to a read-only file: moves the connection to a copy in memory. False: error says why not. */
bool db_make_writable(struct db *db);

/* Builds the missing search index; until then the search reads all messages. False: error says why not. */
bool db_build_index(struct db *db);

/* ---- writes: each one durable transaction; error is filled unless DB_OK ---- */
enum db_result db_put_conversation(struct db *db, const struct store_conversation *c);
enum db_result db_put_message(struct db *db, const struct store_message *m);
enum db_result db_put_summary(struct db *db, const struct store_summary *s);
enum db_result db_put_setting(struct db *db, const char *key, const char *value);
enum db_result db_put_draft(struct db *db, const struct store_draft *d);
enum db_result db_put_command(struct db *db, const char *text);
enum db_result db_rename(struct db *db, store_id conversation, const char *title);
enum db_result db_set_leaf(struct db *db, store_id conversation, store_id leaf);
enum db_result db_set_system(struct db *db, store_id conversation, const char *system);
enum db_result db_delete(struct db *db, store_id conversation);

/* The writes between these two calls, db_delete excepted, form one transaction. End the group with the worst result of
 * its writes: anything but DB_OK rolls all of them back. Returns DB_OK if all are durable. */
enum db_result db_group_begin(struct db *db);
enum db_result db_group_end(struct db *db, enum db_result worst);

/* ---- queries: fill an event; DB_OK, or an event to be freed and an error ---- */
enum db_result db_settings(struct db *db, struct store_event *e);
enum db_result db_list(struct db *db, struct store_event *e);
enum db_result db_load(struct db *db, store_id conversation, store_id through, int step, struct store_event *e);
enum db_result db_new_draft(struct db *db, struct store_event *e);
enum db_result db_history(struct db *db, struct store_event *e);
enum db_result db_search(struct db *db, const char *query, store_id conversation, struct store_event *e);

/*
 * While writes fail, queries should see them all the same. Between these two calls the writes above go into one
 * transaction that is never committed, with its journal in memory and nothing spilled, so that a full or read-only
 * disk is not touched; the queries see them. End it even where begin returned false.
 */
bool db_preview_begin(struct db *db);
void db_preview_end(struct db *db);

/* ---- for the files of this room ---- */

int db_prepare(struct db *db); /* what is not prepared yet, but for a missing search index */
void db_unprepare(struct db *db);
void db_wait_for_locks(struct db *db); /* installs the busy handler */

/* A statement reset and bound: 'i' int64_t, 'd' int, 'n' store_id with 0 as NULL, 'r' double, 't' text or NULL. */
sqlite3_stmt *db_bind(struct db *db, enum db_statement which, const char *types, ...);
/* Steps: true while there is a row; at the end resets the statement and, unless *rc is an error, sets it to
 * SQLITE_OK. */
bool db_row(sqlite3_stmt *stmt, int *rc);
/* Carries a statement to its end: SQLITE_OK or the error. */
int db_run(sqlite3_stmt *stmt);
int db_begin(struct db *db, enum db_statement how); /* DB_BEGIN_READ or DB_BEGIN_WRITE */
/* Notes what rc means in db->error, and ends an open transaction. */
enum db_result db_fail(struct db *db, int rc);
/* Ends the transaction: commits if rc is SQLITE_OK, else rolls back. */
enum db_result db_finish(struct db *db, int rc);
char *db_text(sqlite3_stmt *stmt, int column); /* a copy; NULL stays NULL */

#endif
