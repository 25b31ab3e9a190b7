/* app.c - the full-screen program's loop, its beginning and its end. See app.h. */
#include "app.h"

#include "app_state.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/mem.h"
#include "commands.h"
#include "window.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STOP_MS 1000 /* longest wait for the end of an answer when leaving */

/* ---- shared ---- */

void app_leave(struct app *app, int exit_status, const char *last_words)
{
    app->quit = true;
    app->exit_status = exit_status;
    free(app->last_words);
    app->last_words = mem_string(last_words);
}

/* The places that hold conversations, one after the other: what is there (NULL: nothing). The same may be in
 * several. */
static size_t n_places(const struct app *app)
{
    return 3 + app->n_waiting;
}

static struct conversation *place(const struct app *app, size_t i)
{
    struct conversation *const one[] = {app->shown, app->answering, app->compacting};
    return i < 3 ? one[i] : app->waiting[i - 3];
}

static bool held_before(const struct app *app, const struct conversation *c, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (place(app, i) == c)
            return true;
    return false;
}

void app_let_go(struct app *app, struct conversation *c)
{
    if (c && !held_before(app, c, n_places(app)))
        conversation_free(c);
}

struct conversation *app_find(const struct app *app, store_id id)
{
    for (size_t i = 0; i < n_places(app); i++)
        if (place(app, i) && place(app, i)->id == id)
            return place(app, i);
    return NULL;
}

uint64_t app_query(struct app *app)
{
    app->n_queries++;
    return ++app->last_tag;
}

/* ---- the loop ---- */

/* A full pipe wakes just as well. */
void app_wake(void *ctx)
{
    const struct app *app = ctx;
    ssize_t ignored = write(app->wake[1], "", 1);
    (void)ignored;
}

static bool open_wake(struct app *app)
{
    if (pipe(app->wake) != 0)
        return false;
    for (int i = 0; i < 2; i++) {
        fcntl(app->wake[i], F_SETFL, O_NONBLOCK);
        fcntl(app->wake[i], F_SETFD, FD_CLOEXEC);
    }
    return true;
}

static void sleep_until_something(struct app *app)
{
    struct pollfd fds[] = {{.fd = ui_fd(app->ui), .events = POLLIN}, {.fd = app->wake[0], .events = POLLIN}};
    poll(fds, 2, clock_shorter(ui_timeout(app->ui), app_save_timeout(app)));
    char bytes[256];
    while (fds[1].revents && read(app->wake[0], bytes, sizeof bytes) == (ssize_t)sizeof bytes)
        ;
}

/* Whatever the events of one round write is one transaction. */
static void take_events(struct app *app)
{
    store_hold(app->store);
    ui_read(app->ui);
    struct ui_event wish;
    while (!app->quit && ui_next_event(app->ui, &wish))
        app_ui_event(app, &wish);
    app_give_back_stopped(app);
    for (struct store_event *e; (e = store_take(app->store)); store_event_free(e))
        app_store_event(app, e);
    for (struct worker_event *e; app->worker && (e = worker_take(app->worker)); worker_event_free(e))
        app_worker_event(app, e);
    if (app_save_timeout(app) == 0)
        app_save_answer(app);
    if (app->quit_when_idle && !app->quit && app_is_idle(app))
        app_leave(app, app_waits(app, app->shown) ? 1 : 0, NULL);
    store_release(app->store);
}

/* What the worker does for another conversation is not shown. */
static enum ui_activity shown_activity(const struct app *app)
{
    bool elsewhere = app->answering && app->answering != app->shown;
    if (elsewhere || (app->activity == UI_SUMMARIZING && !app->answering && app->compacting != app->shown))
        return UI_IDLE;
    return app->activity;
}

static void update_status(struct app *app)
{
    bool awaited = app_is_awaited(app);
    enum ui_activity activity = shown_activity(app);
    if (awaited && activity == UI_IDLE)
        activity = UI_THINKING;
    if (app->status_changed || activity != app->status.activity || awaited != app->status.awaited) {
        app->status.activity = activity;
        app->status.awaited = awaited;
        ui_set_status(app->ui, &app->status);
    }
    app->status_changed = false;
}

/* Messages that wait for the conversation shown: in its outbox, or held until it is loaded. */
static void update_waiting(struct app *app)
{
    const struct outbox *outbox = &app->shown->outbox;
    const char **messages = mem_new(outbox->n + app->n_held + 1, sizeof *messages);
    size_t n = 0;
    for (size_t i = 0; i < outbox->n; i++)
        messages[n++] = outbox->texts[i];
    for (size_t i = 0; i < app->n_held; i++)
        if (app->held[i].type == UI_SEND)
            messages[n++] = app->held[i].text;
    ui_set_waiting(app->ui, messages, n);
    free(messages);
}

static void draw(struct app *app)
{
    update_status(app);
    update_waiting(app);
    ui_draw(app->ui);
}

/* ---- beginning and end ---- */

static const char *begin(struct app *app, const char *db, char *err, size_t cap)
{
    if (!open_wake(app))
        return strerror(errno);
    /* The screen first, whatever the rest takes: a person may type from here on. */
    if (!(app->ui = ui_open(err, cap)))
        return err;
    app->activity = UI_LOADING;
    app->status.progress = -1;
    app->shown = conversation_new(settings_text(app->settings, SET_SYSTEM));
    app_push_settings(app);
    app_show(app, app->shown);
    draw(app);

    if (!(app->store = store_open(db, app_wake, app, err, cap)))
        return err;
    if (app->options->resume)
        app->opening = (struct app_opening){.kind = APP_OPENING_RESUMED, .tag = app_query(app)};
    if (app->options->resumed) /* a number or a title: the list says which it is */
        store_list(app->store, app->opening.tag);
    else if (app->options->resume)
        store_load(app->store, 0, app->opening.tag);
    store_new_draft(app->store, app_query(app));
    store_history(app->store, app_query(app));
    return NULL;
}

/* Stops the answer being written and waits for its last words. Its conversation is held on, until all is known to be
 * saved. */
static void end_answer(struct app *app)
{
    if (!app->answering)
        return;
    app_enqueue(app, app->answering); /* nothing is begun any more */
    worker_stop(app->worker);
    double until = clock_ms() + STOP_MS;
    while (app->answering && clock_ms() < until) {
        struct worker_event *e = worker_wait(app->worker, STOP_MS / 10);
        if (e && e->type != WORKER_LOAD_FAILED)
            app_worker_event(app, e);
        worker_event_free(e);
    }
    app_save_answer(app);
}

/* What the store could not keep goes into a file of its own. Its path, malloc'd, or NULL. */
static char *rescue(const struct conversation *c)
{
    const char *tmp = getenv("TMPDIR");
    struct buffer path = BUFFER_INIT;
    buffer_printf(&path, "%s/chinwag-%lld-XXXXXX", tmp && *tmp ? tmp : "/tmp", (long long)c->id);
    int fd = mkstemp(path.s);
    FILE *out = fd < 0 ? NULL : fdopen(fd, "w");
    for (size_t i = 0; out && i < c->n; i++)
        fprintf(out, "%s:\n%s\n\n", c->messages[i].role == STORE_USER ? "you" : "chinwag", c->messages[i].text.s);
    bool written = out && !ferror(out);
    if (out)
        written = fclose(out) == 0 && written;
    else if (fd >= 0)
        close(fd);
    if (written)
        return buffer_take(&path);
    if (fd >= 0)
        unlink(path.s);
    buffer_free(&path);
    return NULL;
}

/* Each conversation in memory, once. */
static void rescue_all(struct app *app, const char *why)
{
    struct buffer paths = BUFFER_INIT;
    for (size_t i = 0; i < n_places(app); i++) {
        const struct conversation *c = place(app, i);
        char *path = c && c->n && !c->deleted && !held_before(app, c, i) ? rescue(c) : NULL;
        if (path)
            buffer_printf(&paths, "%s%s", paths.len ? ", " : "; what was said is in ", path);
        free(path);
    }
    app->exit_status = command_fail(1, "the last messages could not be saved: %s%s", why, paths.s);
    buffer_free(&paths);
}

static void end(struct app *app)
{
    char err[512];
    if (app->worker)
        end_answer(app);
    if (app->store) {
        app_store_outboxes(app);
        app_draft_leave_program(app);
    }
    ui_close(app->ui); /* from here on stderr can be read */
    if (app->worker)
        worker_close(app->worker);
    if (app->store && !store_close(app->store, err, sizeof err))
        rescue_all(app, err);
    app_print_held(app);
    if (app->last_words)
        command_fail(1, "%s", app->last_words);
}

static void free_all(struct app *app)
{
    struct conversation *shown = app->shown, *answering = app->answering, *compacting = app->compacting;
    while (app->n_waiting)
        app_forget_waiting(app, app->waiting[0]);
    app->answering = app->compacting = app->shown = NULL;
    conversation_free(shown);
    if (answering != shown)
        conversation_free(answering);
    if (compacting != shown && compacting != answering)
        conversation_free(compacting);
    for (size_t i = 0; i < app->n_history; i++)
        free(app->history[i]);
    free(app->history);
    free(app->waiting);
    free(app->model_path);
    free(app->last_words);
    free(app->store_notice);
    free(app->draft);
    conversation_draft_free(&app->new_draft);
    conversation_draft_free(&app->opening_draft);
    for (int i = 0; i < 2; i++)
        if (app->wake[i] >= 0)
            close(app->wake[i]);
}

int app_run(const struct options *options, struct settings *settings)
{
    char err[512];
    char *db = settings_database(settings);
    signal(SIGPIPE, SIG_IGN);
    struct app app = {.options = options,
                      .settings = settings,
                      .wake = {-1, -1},
                      .defaults = {.repeat_last_n = 256},
                      .status = {.window_soft = WINDOW_SOFT, .window_hard = WINDOW_HARD},
                      .status_changed = true};
    const char *failure = begin(&app, db, err, sizeof err);
    if (failure)
        app_leave(&app, 1, failure);
    while (!app.quit) {
        sleep_until_something(&app);
        take_events(&app);
        if (!app.quit)
            draw(&app);
    }
    end(&app);
    free_all(&app);
    free(db);
    return app.exit_status;
}
