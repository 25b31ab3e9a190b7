/*
 * fake_rooms.h - a ui, a store and a worker that do nothing but log, for the unit tests of src/app_*.c.
 *
 * They stand behind the headers of the real ones and define every function of these headers: the tests of app_*.c link
 * with them first and take the rest of the program from an archive, so a function missing here brings in the real file
 * and the linker refuses the doubles.
 *
 * A test gives the app events as the rooms would (fake_send, fake_loaded, fake_done, ...) and compares what the app did
 * in the meantime with expect_log: one line for each call that matters.
 */
#ifndef FAKE_ROOMS_H
#define FAKE_ROOMS_H

#include "../../../src/app_state.h"
#include "../../../src/base/buffer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct buffer fake_log = BUFFER_INIT;
static store_id fake_last_id;
static uint64_t fake_tag;             /* of the last query */
static struct worker_job fake_job;    /* the last one to generate: its ids; its texts are gone */
static struct store_message fake_row; /* the last one put: its numbers */

/* Compares what was logged since the last call. */
static inline void expect_log(const char *expected)
{
    assert_string_equal(fake_log.s, expected);
    buffer_clear(&fake_log);
}

/* ---- ui.h ---- */

struct ui *ui_open(char *err, size_t cap)
{
    (void)err, (void)cap;
    return NULL;
}

void ui_close(struct ui *ui)
{
    (void)ui;
}

int ui_fd(const struct ui *ui)
{
    (void)ui;
    return -1;
}

int ui_timeout(const struct ui *ui)
{
    (void)ui;
    return -1;
}

void ui_read(struct ui *ui)
{
    (void)ui;
}

void ui_draw(struct ui *ui)
{
    (void)ui;
}

bool ui_next_event(struct ui *ui, struct ui_event *event)
{
    (void)ui, (void)event;
    return false;
}

void ui_show_conversation(struct ui *ui, int64_t id, const char *title)
{
    (void)ui, (void)id;
    buffer_printf(&fake_log, "show %s\n", title);
}

void ui_set_title(struct ui *ui, const char *title)
{
    (void)ui;
    buffer_printf(&fake_log, "title %s\n", title);
}

void ui_add(struct ui *ui, int64_t id, enum ui_role role, const char *text, size_t len, int64_t time_ms)
{
    static const char *const names[] = {[UI_PERSON] = "you", [UI_MODEL_ANSWER] = "chinwag", [UI_NOTICE] = "notice"};
    (void)ui, (void)id, (void)time_ms;
    buffer_printf(&fake_log, "%s %.*s\n", names[role], (int)len, text);
}

void ui_append(struct ui *ui, int64_t id, const char *piece, size_t len)
{
    (void)ui, (void)id;
    buffer_printf(&fake_log, "append %.*s\n", (int)len, piece);
}

void ui_append_thought(struct ui *ui, int64_t id, const struct ui_thought *thought, const char *piece, size_t len)
{
    (void)ui, (void)id, (void)thought;
    buffer_printf(&fake_log, "thought %.*s\n", (int)len, piece);
}

void ui_finish(struct ui *ui, int64_t id, const char *footnote)
{
    (void)ui, (void)id;
    if (footnote)
        buffer_printf(&fake_log, "footnote %s\n", footnote);
}

void ui_set_alternative(struct ui *ui, int64_t id, int number, int count)
{
    (void)ui, (void)id, (void)number, (void)count;
}

void ui_set_time(struct ui *ui, int64_t id, int64_t time_ms)
{
    (void)ui, (void)id, (void)time_ms;
}

void ui_remove(struct ui *ui, int64_t id)
{
    (void)ui, (void)id;
    buffer_puts(&fake_log, "remove\n");
}

void ui_set_waiting(struct ui *ui, const char *const *messages, size_t n)
{
    (void)ui, (void)messages, (void)n;
}

void ui_put_back(struct ui *ui, const char *text)
{
    (void)ui;
    buffer_printf(&fake_log, "put back %s\n", text);
}

const char *ui_draft(const struct ui *ui)
{
    (void)ui;
    return "";
}

void ui_flash(struct ui *ui, const char *text)
{
    (void)ui;
    buffer_printf(&fake_log, "flash %s\n", text);
}

void ui_set_warning(struct ui *ui, const char *text)
{
    (void)ui, (void)text;
}

void ui_set_history(struct ui *ui, const char *const *prompts, size_t n)
{
    (void)ui, (void)prompts, (void)n;
}

void ui_set_status(struct ui *ui, const struct ui_status *status)
{
    (void)ui, (void)status;
}

void ui_set_settings(struct ui *ui, const struct ui_setting *settings, size_t n)
{
    (void)ui, (void)settings, (void)n;
}

void ui_set_mouse(struct ui *ui, bool on)
{
    (void)ui, (void)on;
}

void ui_set_models(struct ui *ui, const char *const *names, size_t n)
{
    (void)ui, (void)names, (void)n;
}

void ui_set_conversations(struct ui *ui, const struct ui_conversation *list, size_t n)
{
    (void)ui, (void)list;
    buffer_printf(&fake_log, "list of %zu\n", n);
}

void ui_list_failed(struct ui *ui)
{
    (void)ui;
    buffer_puts(&fake_log, "no list\n");
}

void ui_set_found(struct ui *ui, const char *query, const struct ui_conversation *list, size_t n)
{
    (void)ui, (void)list;
    buffer_printf(&fake_log, "found %s: %zu\n", query, n);
}

/* ---- store.h ---- */

store_id store_new_id(void)
{
    return ++fake_last_id;
}

struct store *store_open(const char *path, void (*notify)(void *ctx), void *ctx, char *err, size_t cap)
{
    (void)path, (void)notify, (void)ctx, (void)err, (void)cap;
    return NULL;
}

bool store_close(struct store *s, char *err, size_t cap)
{
    (void)s, (void)err, (void)cap;
    return true;
}

void store_hold(struct store *s)
{
    (void)s;
}

void store_release(struct store *s)
{
    (void)s;
}

void store_put_conversation(struct store *s, const struct store_conversation *c)
{
    (void)s, (void)c;
}

void store_rename(struct store *s, store_id conversation, const char *title)
{
    (void)s, (void)conversation;
    buffer_printf(&fake_log, "rename %s\n", title);
}

void store_set_system(struct store *s, store_id conversation, const char *system)
{
    (void)s, (void)conversation, (void)system;
}

void store_set_leaf(struct store *s, store_id conversation, store_id leaf)
{
    (void)s, (void)conversation, (void)leaf;
}

void store_delete(struct store *s, store_id conversation)
{
    (void)s, (void)conversation;
    buffer_puts(&fake_log, "delete\n");
}

void store_put_message(struct store *s, const struct store_message *m)
{
    (void)s;
    fake_row = *m;
    if (m->role == STORE_USER)
        buffer_printf(&fake_log, "store %s\n", m->text);
}

void store_put_summary(struct store *s, const struct store_summary *summary)
{
    (void)s, (void)summary;
}

void store_put_setting(struct store *s, const char *key, const char *value)
{
    (void)s, (void)key, (void)value;
}

void store_put_draft(struct store *s, const struct store_draft *draft)
{
    (void)s, (void)draft;
}

void store_put_command(struct store *s, const char *text)
{
    (void)s, (void)text;
}

void store_list(struct store *s, uint64_t tag)
{
    (void)s;
    fake_tag = tag;
}

void store_load(struct store *s, store_id conversation, uint64_t tag)
{
    (void)s, (void)conversation;
    fake_tag = tag;
}

void store_new_draft(struct store *s, uint64_t tag)
{
    (void)s, (void)tag;
}

void store_history(struct store *s, uint64_t tag)
{
    (void)s, (void)tag;
}

void store_load_through(struct store *s, store_id conversation, store_id message, int step, uint64_t tag)
{
    (void)s, (void)message, (void)step;
    fake_tag = tag;
    buffer_printf(&fake_log, "load %lld\n", (long long)conversation);
}

void store_search(struct store *s, const char *query, store_id conversation, uint64_t tag)
{
    (void)s, (void)query, (void)conversation;
    fake_tag = tag;
}

struct store_event *store_take(struct store *s)
{
    (void)s;
    return NULL;
}

struct store_event *store_wait(struct store *s, int timeout_ms)
{
    (void)s, (void)timeout_ms;
    return NULL;
}

void store_event_free(struct store_event *e)
{
    (void)e;
}

/* ---- worker.h ---- */

struct worker *worker_open(const struct worker_options *options, void (*notify)(void *ctx), void *ctx, char *err,
                           size_t cap)
{
    (void)options, (void)notify, (void)ctx, (void)err, (void)cap;
    return NULL;
}

void worker_close(struct worker *w)
{
    (void)w;
}

void worker_generate(struct worker *w, const struct worker_job *job)
{
    (void)w;
    fake_job = *job;
    buffer_printf(&fake_log, "generate %s\n", job->messages[job->n_messages - 1].text);
}

void worker_stop(struct worker *w)
{
    (void)w;
    buffer_puts(&fake_log, "stop\n");
}

void worker_compact(struct worker *w, const struct worker_job *job)
{
    (void)w, (void)job;
}

void worker_prepare(struct worker *w, const struct worker_job *job, bool rests)
{
    (void)w, (void)job, (void)rests;
}

void worker_load(struct worker *w, const char *model_path)
{
    (void)w;
    buffer_printf(&fake_log, "model %s\n", model_path);
}

void worker_set_sampling(struct worker *w, const struct engine_sampling *sampling)
{
    (void)w, (void)sampling;
}

void worker_set_threads(struct worker *w, int threads)
{
    (void)w, (void)threads;
}

struct worker_event *worker_take(struct worker *w)
{
    (void)w;
    return NULL;
}

struct worker_event *worker_wait(struct worker *w, int timeout_ms)
{
    (void)w, (void)timeout_ms;
    return NULL;
}

void worker_event_free(struct worker_event *e)
{
    (void)e;
}

/* ---- an app that was opened and has its model, and what happens to it ---- */

static const struct options fake_options;
static struct settings fake_settings;

static inline int fake_start(void **state)
{
    static char room; /* what an opaque pointer points to does not matter */
    struct app *app = calloc(1, sizeof *app);
    fake_last_id = 1000;
    *app = (struct app){.options = &fake_options,
                        .settings = &fake_settings,
                        .ui = (struct ui *)&room,
                        .store = (struct store *)&room,
                        .worker = (struct worker *)&room,
                        .wake = {-1, -1},
                        .model = APP_MODEL_READY,
                        .model_was_loaded = true,
                        .shown = conversation_new(NULL)};
    buffer_clear(&fake_log);
    *state = app;
    return 0;
}

static inline int fake_end(void **state)
{
    struct app *app = *state;
    while (app->n_waiting)
        app_forget_waiting(app, app->waiting[0]);
    struct conversation *answering = app->answering, *compacting = app->compacting;
    app->answering = app->compacting = NULL;
    app_let_go(app, answering);
    app_let_go(app, compacting == answering ? NULL : compacting);
    conversation_free(app->shown);
    for (size_t i = 0; i < app->n_history; i++)
        free(app->history[i]);
    free(app->history);
    free(app->waiting);
    free(app->draft);
    free(app->model_path);
    free(app->last_words);
    free(app);
    return 0;
}

/* One key's worth: the events, and then what the loop does once all are taken. */
static inline void fake_ui(struct app *app, enum ui_event_type type, int64_t id, const char *text)
{
    app_ui_event(app, &(struct ui_event){.type = type, .id = id, .text = text});
}

static inline void fake_send(struct app *app, const char *text)
{
    fake_ui(app, UI_SEND, 0, text);
    app_give_back_stopped(app);
}

/* The store's answer to the query with this tag: a conversation of one question. */
static inline void fake_loaded(struct app *app, uint64_t tag, store_id id, const char *title)
{
    struct store_message question = {.id = id + 1, .conversation = id, .role = STORE_USER, .text = (char *)title};
    app_store_event(app, &(struct store_event){.type = STORE_LOADED,
                                               .tag = tag,
                                               .conversation = {.id = id, .title = (char *)title, .leaf = id + 1},
                                               .n = id ? 1 : 0,
                                               .messages = id ? &question : NULL});
}

static inline void fake_store(struct app *app, enum store_event_type type, uint64_t tag, const char *text)
{
    app_store_event(app, &(struct store_event){.type = type, .tag = tag, .text = (char *)text});
}

/* Of the answer that the worker was last asked for. */
static inline void fake_worker(struct app *app, enum worker_event_type type, enum worker_end end, const char *text)
{
    struct worker_event e = {.type = type,
                             .conversation = fake_job.conversation,
                             .answer = fake_job.answer,
                             .end = end,
                             .text = (char *)text,
                             .len = text ? strlen(text) : 0,
                             .stats = {.prompt_tokens = 20, .generated_tokens = 3}};
    app_worker_event(app, &e);
}

static inline void fake_done(struct app *app)
{
    fake_worker(app, WORKER_DONE, WORKER_END_COMPLETE, "answer");
}

#define fake_test(test) cmocka_unit_test_setup_teardown(test, fake_start, fake_end)

#endif
