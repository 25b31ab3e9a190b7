/*
 * store.c - see store.h: the thread that owns the connection, its queue of commands and its queue of events.
 *
 * Commands form one list, oldest first. Normally the oldest is carried out and removed. While writes fail, the oldest
 * write is tried once a second and queries overtake the writes; they are shown what the kept writes would have made.
 */
#include "../src/base/clock.h"
#include "../src/base/mem.h"
#include "../src/base/thread.h"
#include "op.h"
#include "store_structs.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RETRY_MS 1000
#define REST_MS 300          /* a setting or draft is written once it has not changed for this long ... */
#define LATE_MS 1000         /* ... or has waited for this long */
#define GROUP_MAX 256        /* writes in one transaction */
#define INDEX_RETRY_MS 10000 /* after the search index could not be built */

struct store {
    pthread_t thread;
    void (*notify)(void *ctx);
    void *ctx;
    struct db *db;         /* owned by the thread while it runs; NULL until the file is open */
    char *path;            /* NULL in memory */
    enum db_damage damage; /* used by the thread: the repair steps taken so far */
    double index_at;       /* used by the thread: clock_ms when to retry building the search index */
    atomic_bool hurry;     /* closing with nothing to save: do not wait for another program's lock */

    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t work;  /* a command was queued, or closing set */
    pthread_cond_t news;  /* an event was queued */
    struct op *ops, *last_op;
    struct store_event_link *events, *last_event;
    bool closing;
    int held;        /* calls of store_hold without their store_release */
    size_t singly;   /* writes to run one per transaction, because their shared one failed */
    bool failing;    /* the oldest write in the list, or opening the file, failed when last tried */
    double retry_at; /* clock_ms when to retry it */
    char *failure;   /* its error message; NULL if none ever failed */
};

struct store_event_link {
    struct store_event_link *next;
    struct store_event *event;
};

/* ---- queues ---- */

/* Whether a later command may replace a queued one. */
static bool supersedes(const struct op *later, const struct op *op)
{
    if (later->type != op->type || op->busy)
        return false;
    switch (later->type) {
    case PUT_MESSAGE: return op->message.id == later->message.id;
    case PUT_DRAFT: return op->draft.id == later->draft.id;
    case PUT_SETTING: return strcmp(op->key, later->key) == 0;
    default: return false;
    }
}

/* With the lock. Never across a deletion: the store drops what is put into the conversation afterwards. */
static struct op *superseded(const struct store *s, const struct op *later)
{
    struct op *found = NULL;
    for (struct op *op = s->ops; op; op = op->next)
        found = op->type == DELETE ? NULL : supersedes(later, op) ? op : found;
    return found;
}

/* With the lock. */
static void append(struct store *s, const struct op *template)
{
    struct op *op = mem_new(1, sizeof *op);
    *op = *template;
    if (s->last_op)
        s->last_op->next = op;
    else
        s->ops = op;
    s->last_op = op;
}

/* How long a setting or draft may wait for its next value. */
static void set_due(struct op *op, const struct op *older)
{
    double now = clock_ms();
    op->born_ms = older ? older->born_ms : now;
    if (op->type == PUT_SETTING)
        op->due_ms = now + REST_MS < op->born_ms + LATE_MS ? now + REST_MS : op->born_ms + LATE_MS;
    else if (op->type == PUT_DRAFT && op->draft.text && *op->draft.text)
        op->due_ms = op->born_ms + REST_MS;
}

/* Takes ownership of what template points to. */
static void queue(struct store *s, struct op template)
{
    pthread_mutex_lock(&s->lock);
    struct op *older = superseded(s, &template);
    set_due(&template, older);
    if (older) {
        template.next = older->next;
        op_end(older);
        *older = template;
    } else {
        append(s, &template);
    }
    pthread_cond_signal(&s->work);
    pthread_mutex_unlock(&s->lock);
}

static struct op *first_of_kind(const struct store *s, bool write)
{
    struct op *op = s->ops;
    while (op && op_table[op->type].is_write != write)
        op = op->next;
    return op;
}

static void unlink_op(struct store *s, struct op *gone)
{
    struct op *before = NULL;
    for (struct op *op = s->ops; op != gone; op = op->next)
        before = op;
    if (before)
        before->next = gone->next;
    else
        s->ops = gone->next;
    if (s->last_op == gone)
        s->last_op = before;
}

/* Without the lock. */
static void emit(struct store *s, struct store_event *e)
{
    struct store_event_link *link = mem_new(1, sizeof *link);
    link->event = e;
    pthread_mutex_lock(&s->lock);
    if (s->last_event)
        s->last_event->next = link;
    else
        s->events = link;
    s->last_event = link;
    pthread_cond_broadcast(&s->news);
    pthread_mutex_unlock(&s->lock);
    if (s->notify)
        s->notify(s->ctx);
}

static struct store_event *take_event(struct store *s)
{
    struct store_event_link *link = s->events;
    if (!link)
        return NULL;
    struct store_event *e = link->event;
    s->events = link->next;
    if (!s->events)
        s->last_event = NULL;
    free(link);
    return e;
}

/* ---- the thread ---- */

/* Emits an event for what opening the file found. */
static void emit_opening(struct store *s)
{
    if (s->db->notice)
        emit(s, store_event_new(STORE_NOTICE, mem_string(s->db->notice)));
    if (s->db->read_only)
        emit(s, store_event_new(STORE_READ_ONLY, mem_string(s->db->why_read_only)));
}

/* Opens the file again, never creating it: a connection may outlive its file (a lost mount, a file put back in place),
 * and damage is repaired when the file is opened. Where that fails the old connection stays, and the reason replaces
 * the error. */
static bool reopen(struct store *s, enum db_damage damage)
{
    if (!s->path || s->db->detached)
        return false;
    db_release(s->db);
    char err[sizeof s->db->error];
    bool again;
    struct db *fresh = db_open(&(struct db_open_request){.path = s->path, .damage = damage, .hurry = &s->hurry},
                               &again, err, sizeof err);
    if (!fresh) {
        db_lock_again(s->db);
        memcpy(s->db->error, err, sizeof err);
        return false;
    }
    fresh->deleted = s->db->deleted;
    fresh->n_deleted = s->db->n_deleted;
    s->db->deleted = NULL;
    db_close(s->db);
    s->db = fresh;
    emit_opening(s);
    return true;
}

/* Repairs after a failure that shows damage: the first time the search index, the next time the whole file. */
static bool repair(struct store *s)
{
    if (s->damage == DB_DAMAGED)
        return false;
    return reopen(s, ++s->damage);
}

static enum db_result run_op(struct store *s, const struct op *op, struct store_event *e)
{
    if (op_table[op->type].is_write && !db_make_writable(s->db))
        return DB_FAILED;
    return op_table[op->type].run(s->db, op, e);
}

static enum db_result run_again(struct store *s, const struct op *op, struct store_event *e)
{
    if (e)
        store_event_clear(e);
    return run_op(s, op, e);
}

static enum db_result carry_out(struct store *s, const struct op *op, struct store_event *e)
{
    enum db_result result = run_op(s, op, e);
    if (s->db->previewing)
        return result;
    if (result == DB_FAILED && s->db->stale && reopen(s, DB_SOUND))
        result = run_again(s, op, e);
    bool suspect = s->db->index_suspect && s->damage == DB_SOUND;
    if (suspect && repair(s) && result == DB_FAILED)
        result = run_again(s, op, e);
    while (result == DB_FAILED && s->db->damaged && repair(s))
        result = run_again(s, op, e);
    return result;
}

/* Returns all queued writes, marked busy so that they can be read without the lock. malloc'd. */
static struct op **hold_writes(struct store *s, size_t *n)
{
    struct op **writes = NULL;
    *n = 0;
    pthread_mutex_lock(&s->lock);
    for (struct op *op = s->ops; op; op = op->next) {
        if (!op_table[op->type].is_write)
            continue;
        writes = mem_append(writes, *n, sizeof *writes);
        writes[(*n)++] = op;
        op->busy = true;
    }
    pthread_mutex_unlock(&s->lock);
    return writes;
}

/* A query while writes fail: answered as if they had succeeded. Where that cannot be (the file is locked), from the
 * file. */
static enum db_result carry_out_ahead(struct store *s, const struct op *query, struct store_event *e)
{
    size_t n;
    struct op **writes = hold_writes(s, &n);
    bool shown = db_preview_begin(s->db);
    for (size_t i = 0; shown && i < n; i++)
        shown = op_table[writes[i]->type].run(s->db, writes[i], NULL) != DB_FAILED;
    enum db_result result = shown ? carry_out(s, query, e) : DB_FAILED;
    db_preview_end(s->db);
    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < n; i++)
        writes[i]->busy = false;
    pthread_mutex_unlock(&s->lock);
    free(writes);
    if (result == DB_OK)
        return result;
    store_event_clear(e);
    return carry_out(s, query, e);
}

static void answer(struct store *s, struct op *op)
{
    struct store_event *e = store_event_new(op_table[op->type].answer, NULL);
    enum db_result result = s->failing ? carry_out_ahead(s, op, e) : carry_out(s, op, e);
    if (result != DB_OK) {
        store_event_clear(e);
        /* STORE_SETTINGS is always the first event, even if the query failed: the program then uses its defaults. */
        if (e->type == STORE_SETTINGS)
            emit(s, e);
        else
            store_event_free(e);
        e = store_event_new(STORE_ERROR, mem_string(s->db->error));
    }
    e->tag = op->tag;
    emit(s, e);
    pthread_mutex_lock(&s->lock);
    unlink_op(s, op);
    op_free(op);
    pthread_mutex_unlock(&s->lock);
}

/* With the lock. Removes a write that succeeded or was refused. */
static void finish_op(struct store *s, struct op *op)
{
    unlink_op(s, op);
    op_free(op);
}

static enum db_result write_group(struct store *s, struct op *const *ops, size_t n)
{
    if (!db_make_writable(s->db))
        return DB_FAILED;
    enum db_result worst = db_group_begin(s->db);
    for (size_t i = 0; worst == DB_OK && i < n; i++)
        worst = op_table[ops[i]->type].run(s->db, ops[i], NULL);
    return db_group_end(s->db, worst);
}

/* With the lock. Keeps a failed write for a retry. Returns the event to emit, or NULL. */
static struct store_event *note_failure(struct store *s)
{
    bool first = !s->failing;
    free(s->failure);
    s->failure = mem_string(s->db->error);
    s->retry_at = clock_ms() + RETRY_MS;
    s->failing = true;
    return first ? store_event_new(STORE_FAILING, mem_string(s->failure)) : NULL;
}

/* With the lock. Call it after a write succeeded or was refused. Returns STORE_RECOVERED if it was the last kept write,
 * else NULL. */
static struct store_event *note_success(struct store *s)
{
    s->retry_at = 0; /* retry the next kept write at once */
    if (!s->failing || first_of_kind(s, true))
        return NULL;
    s->failing = false;
    return store_event_new(STORE_RECOVERED, NULL);
}

/* The screen marks a message as sent only when this event arrives. */
static void announce_saved(struct store *s, struct op *const *ops, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (ops[i]->type != PUT_MESSAGE || ops[i]->message.role != STORE_USER)
            continue;
        struct store_event *e = store_event_new(STORE_SAVED, NULL);
        e->conversation.id = ops[i]->message.conversation;
        e->message = ops[i]->message.id;
        emit(s, e);
    }
}

/* Tries writes, as one transaction; removes them unless they are to be tried again. If they fail together, each is
 * tried in its own transaction, so that one that is refused or too large holds up no other. */
static void write_down(struct store *s, struct op *const *ops, size_t n)
{
    enum db_result result = n > 1 ? write_group(s, ops, n) : carry_out(s, ops[0], NULL);
    if (n == 1 && result == DB_REFUSED)
        emit(s, store_event_new(STORE_ERROR, mem_string(s->db->error)));
    struct store_event *e = NULL;
    if (result == DB_OK && !s->db->read_only)
        announce_saved(s, ops, n);
    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < n; i++)
        ops[i]->busy = false;
    if (n > 1 && result != DB_OK) {
        s->singly = n;
    } else if (result == DB_FAILED) {
        e = note_failure(s);
    } else {
        s->singly -= s->singly > 0;
        for (size_t i = 0; i < n; i++)
            finish_op(s, ops[i]);
        e = note_success(s);
    }
    pthread_mutex_unlock(&s->lock);
    if (e)
        emit(s, e);
}

/* With the lock. Marks the write and those queued behind it that can share its transaction. Returns their number. */
static size_t take_group(struct store *s, struct op *op, struct op **group)
{
    size_t n = 0, max = s->failing || s->singly || op->type == DELETE ? 1 : GROUP_MAX;
    for (; op && n < max && op_table[op->type].is_write && (op->type != DELETE || n == 0); op = op->next) {
        op->busy = true;
        group[n++] = op;
    }
    return n;
}

/* With the lock. clock_ms when the oldest command is due; 0 = now. */
static double due(const struct store *s)
{
    double at = s->ops ? s->ops->due_ms : 0;
    for (const struct op *op = s->ops; op; op = op->next)
        at = op->due_ms < at ? op->due_ms : at;
    return at;
}

/* With the lock. What can be carried out now; while writes fail queries overtake them. Closing: only writes, whatever
 * the time, as there is nobody left to take an answer. */
static struct op *runnable(const struct store *s)
{
    if (s->closing || (s->failing && !s->held && clock_ms() >= s->retry_at))
        return first_of_kind(s, true);
    if (s->held)
        return NULL;
    return s->failing ? first_of_kind(s, false) : clock_ms() >= due(s) ? s->ops : NULL;
}

/* With the lock. */
static void wait_for_work(struct store *s)
{
    bool index = !s->failing && s->db->index_missing; /* building it has failed */
    double at = s->failing ? s->retry_at : s->ops ? due(s) : s->index_at;
    if (s->held || (!s->failing && !s->ops && !index))
        pthread_cond_wait(&s->work, &s->lock);
    else
        cond_wait_until(&s->work, &s->lock, index && s->index_at < at ? s->index_at : at);
}

/* Reports that the file could not be opened and waits for the next try. Returns false to give up. */
static bool wait_to_open(struct store *s, bool again, const char *why)
{
    struct store_event *e = NULL;
    pthread_mutex_lock(&s->lock);
    free(s->failure);
    s->failure = mem_string(why);
    if (!again)
        e = store_event_new(STORE_OPEN_FAILED, mem_string(why));
    else if (!s->failing)
        e = store_event_new(STORE_FAILING, mem_string(why));
    s->failing = true;
    s->retry_at = clock_ms() + RETRY_MS;
    pthread_mutex_unlock(&s->lock);
    if (e)
        emit(s, e);
    pthread_mutex_lock(&s->lock);
    while (again && !s->closing && clock_ms() < s->retry_at)
        cond_wait_until(&s->work, &s->lock, s->retry_at);
    pthread_mutex_unlock(&s->lock);
    return again;
}

/* Opens the file, however long another program keeps it locked. Returns false if that cannot succeed, or if the store
 * is closing and the last attempt failed. */
static bool open_file(struct store *s)
{
    char err[sizeof s->db->error];
    bool again, last_try;
    for (;;) {
        pthread_mutex_lock(&s->lock);
        last_try = s->closing;
        pthread_mutex_unlock(&s->lock);
        s->db = db_open(&(struct db_open_request){.path = s->path, .create = true, .hurry = &s->hurry}, &again, err,
                        sizeof err);
        if (s->db)
            break;
        if (!wait_to_open(s, again && !last_try, err))
            return false;
    }
    pthread_mutex_lock(&s->lock);
    bool recovered = s->failing;
    s->failing = false;
    s->retry_at = 0;
    pthread_mutex_unlock(&s->lock);
    if (recovered)
        emit(s, store_event_new(STORE_RECOVERED, NULL));
    emit_opening(s);
    return true;
}

/* With the lock. Whether to build the search index now, while the queue is empty. */
static bool index_is_due(const struct store *s)
{
    return !s->closing && !s->failing && !s->held && s->db->index_missing && (!s->db->read_only || s->db->detached) &&
           clock_ms() >= s->index_at;
}

static void build_index(struct store *s)
{
    if (!db_build_index(s->db))
        s->index_at = clock_ms() + INDEX_RETRY_MS;
}

static void *run(void *arg)
{
    struct store *s = arg;
    struct op *group[GROUP_MAX];
    if (!open_file(s))
        return NULL;
    pthread_mutex_lock(&s->lock);
    for (;;) {
        struct op *op = runnable(s);
        bool last_try = s->closing;
        if (!op && s->closing)
            break;
        if (!op && index_is_due(s)) {
            pthread_mutex_unlock(&s->lock);
            build_index(s);
            pthread_mutex_lock(&s->lock);
            continue;
        }
        if (!op) {
            wait_for_work(s);
            continue;
        }
        op->busy = true;
        size_t n = take_group(s, op, group);
        pthread_mutex_unlock(&s->lock);
        if (n)
            write_down(s, group, n);
        else
            answer(s, op);
        pthread_mutex_lock(&s->lock);
        if (last_try && s->failing && s->retry_at)
            break;
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

/* ---- open and close ---- */

static void end(struct store *s)
{
    struct store_event *e;
    struct op *op;
    while ((e = take_event(s)))
        store_event_free(e);
    while ((op = s->ops)) {
        s->ops = op->next;
        op_free(op);
    }
    db_close(s->db);
    pthread_cond_destroy(&s->work);
    pthread_cond_destroy(&s->news);
    pthread_mutex_destroy(&s->lock);
    free(s->failure);
    free(s->path);
    free(s);
}

struct store *store_open(const char *path, void (*notify)(void *ctx), void *ctx, char *err, size_t cap)
{
    struct store *s = mem_new(1, sizeof *s);
    s->path = path && strcmp(path, ":memory:") == 0 ? NULL : mem_string(path);
    s->notify = notify;
    s->ctx = ctx;
    pthread_mutex_init(&s->lock, NULL);
    cond_init(&s->work);
    cond_init(&s->news);
    queue(s, (struct op){.type = SETTINGS});

    int rc = thread_start(&s->thread, run, s);
    if (rc == 0)
        return s;
    snprintf(err, cap, "%s: no thread can be started: %s", path ? path : ":memory:", strerror(rc));
    end(s);
    return NULL;
}

bool store_close(struct store *s, char *err, size_t cap)
{
    if (!s)
        return true;
    pthread_mutex_lock(&s->lock);
    s->closing = true;
    atomic_store(&s->hurry, !first_of_kind(s, true));
    pthread_cond_signal(&s->work);
    pthread_mutex_unlock(&s->lock);
    pthread_join(s->thread, NULL);
    bool unsaved = s->db && s->db->unsaved, ok = !first_of_kind(s, true) && !unsaved;
    if (!ok)
        snprintf(err, cap, "%s", unsaved ? s->db->why_read_only : s->failure);
    end(s);
    return ok;
}

/* ---- commands ---- */

void store_hold(struct store *s)
{
    pthread_mutex_lock(&s->lock);
    s->held++;
    pthread_mutex_unlock(&s->lock);
}

void store_release(struct store *s)
{
    pthread_mutex_lock(&s->lock);
    if (--s->held == 0)
        pthread_cond_signal(&s->work);
    pthread_mutex_unlock(&s->lock);
}

void store_put_conversation(struct store *s, const struct store_conversation *c)
{
    queue(s, (struct op){.type = PUT_CONVERSATION, .conversation = store_copy_conversation(c)});
}

void store_put_message(struct store *s, const struct store_message *m)
{
    queue(s, (struct op){.type = PUT_MESSAGE, .message = store_copy_message(m)});
}

void store_put_summary(struct store *s, const struct store_summary *summary)
{
    queue(s, (struct op){.type = PUT_SUMMARY, .summary = store_copy_summary(summary)});
}

void store_put_setting(struct store *s, const char *key, const char *value)
{
    queue(s, (struct op){.type = PUT_SETTING, .key = mem_string(key), .text = mem_string(value)});
}

void store_put_draft(struct store *s, const struct store_draft *draft)
{
    queue(s, (struct op){.type = PUT_DRAFT, .draft = store_copy_draft(draft)});
}

void store_put_command(struct store *s, const char *text)
{
    queue(s, (struct op){.type = PUT_COMMAND, .text = mem_string(text)});
}

void store_set_leaf(struct store *s, store_id conversation, store_id leaf)
{
    queue(s, (struct op){.type = SET_LEAF, .id = conversation, .leaf = leaf});
}

void store_set_system(struct store *s, store_id conversation, const char *system)
{
    queue(s, (struct op){.type = SET_SYSTEM, .id = conversation, .text = mem_string(system)});
}

void store_rename(struct store *s, store_id conversation, const char *title)
{
    queue(s, (struct op){.type = RENAME, .id = conversation, .text = mem_string(title ? title : "")});
}

void store_delete(struct store *s, store_id conversation)
{
    queue(s, (struct op){.type = DELETE, .id = conversation});
}

void store_list(struct store *s, uint64_t tag)
{
    queue(s, (struct op){.type = LIST, .tag = tag});
}

void store_load(struct store *s, store_id conversation, uint64_t tag)
{
    queue(s, (struct op){.type = LOAD, .id = conversation, .tag = tag});
}

void store_new_draft(struct store *s, uint64_t tag)
{
    queue(s, (struct op){.type = NEW_DRAFT, .tag = tag});
}

void store_history(struct store *s, uint64_t tag)
{
    queue(s, (struct op){.type = HISTORY, .tag = tag});
}

void store_load_through(struct store *s, store_id conversation, store_id message, int step, uint64_t tag)
{
    queue(s, (struct op){.type = LOAD, .id = conversation, .through = message, .step = step, .tag = tag});
}

void store_search(struct store *s, const char *query, store_id conversation, uint64_t tag)
{
    queue(s, (struct op){.type = SEARCH, .id = conversation, .text = mem_string(query ? query : ""), .tag = tag});
}

/* ---- events ---- */

struct store_event *store_take(struct store *s)
{
    pthread_mutex_lock(&s->lock);
    struct store_event *e = take_event(s);
    pthread_mutex_unlock(&s->lock);
    return e;
}

struct store_event *store_wait(struct store *s, int timeout_ms)
{
    double until = clock_ms() + timeout_ms;
    pthread_mutex_lock(&s->lock);
    while (!s->events && (timeout_ms < 0 || clock_ms() < until)) {
        if (timeout_ms < 0)
            pthread_cond_wait(&s->news, &s->lock);
        else
            cond_wait_until(&s->news, &s->lock, until);
    }
    struct store_event *e = take_event(s);
    pthread_mutex_unlock(&s->lock);
    return e;
}
