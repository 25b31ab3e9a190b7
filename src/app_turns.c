/* app_turns.c - questions go to the worker one after the other, answers grow and are saved. See app_state.h. */
#include "app_state.h"
#include "base/clock.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

bool app_waits(const struct app *app, const struct conversation *c)
{
    for (size_t i = 0; i < app->n_waiting; i++)
        if (app->waiting[i] == c)
            return true;
    return false;
}

bool app_is_busy(const struct app *app, const struct conversation *c)
{
    return c == app->answering || app_waits(app, c);
}

bool app_is_awaited(const struct app *app)
{
    bool queued = app_waits(app, app->shown) && app->model != APP_MODEL_MISSING;
    return app->answering == app->shown || queued || app_holds_messages(app);
}

bool app_is_idle(const struct app *app)
{
    bool queued = app->n_waiting && app->model != APP_MODEL_MISSING;
    return !app->answering && !queued && app->opening.kind == APP_OPENING_NOTHING && !app->n_queries;
}

void app_enqueue(struct app *app, struct conversation *c)
{
    if (app_waits(app, c))
        return;
    app->waiting = mem_resize(app->waiting, app->n_waiting + 1, sizeof *app->waiting);
    app->waiting[app->n_waiting++] = c;
}

static struct conversation *dequeue(struct app *app, size_t i)
{
    struct conversation *c = app->waiting[i];
    memmove(app->waiting + i, app->waiting + i + 1, (--app->n_waiting - i) * sizeof *app->waiting);
    return c;
}

void app_forget_waiting(struct app *app, const struct conversation *c)
{
    for (size_t i = 0; i < app->n_waiting; i++)
        if (app->waiting[i] == c) {
            app_let_go(app, dequeue(app, i));
            return;
        }
}

static void start(struct app *app, struct conversation *c)
{
    struct conversation *compacted = app->compacting;
    app->compacting = NULL; /* the worker gives it up */
    struct conversation_message *answer = conversation_answer(c, app->status.model);
    app->answering = c;
    app->answer = answer->id;
    app->answer_saved_ms = clock_ms();
    app->answer_unsaved = false;
    app_let_go(app, compacted);
    conversation_save(c, app->store, answer);
    if (c == app->shown)
        app_show_message(app, answer);

    struct conversation_job job;
    conversation_job_make(&job, c, answer->id);
    settings_fill_job(app->settings, &job.job);
    app->answer_max = job.job.max_tokens;
    worker_generate(app->worker, &job.job);
    conversation_job_free(&job);
    app->activity = UI_THINKING;
    app->status.progress = -1;
    app->status_changed = true;
    if (c == app->shown)
        app_show_stats(app, &answer->stats, c->window_used);
}

void app_start_next(struct app *app)
{
    while (!app->quit && !app->answering && app->n_waiting && app->model == APP_MODEL_READY) {
        struct conversation *c = dequeue(app, 0);
        if (!c->deleted && conversation_awaits_answer(c))
            start(app, c);
        else
            app_let_go(app, c);
    }
}

/* The message becomes the end of the conversation's path, and an answer is owed. */
static void ask(struct app *app, struct conversation *c, const char *text)
{
    bool first = !c->stored;
    struct conversation_message *m = conversation_ask(c, text, strlen(text));
    conversation_save(c, app->store, m);
    app_enqueue(app, c);
    if (c != app->shown)
        return;
    app_show_message(app, m);
    if (first)
        ui_set_title(app->ui, c->title);
}

void app_ask_next(struct app *app, struct conversation *c)
{
    char *text = c->deleted || app_is_busy(app, c) ? NULL : outbox_take_first(&c->outbox);
    if (text) {
        ask(app, c, text);
        app_draft_keep(app, c);
    }
    free(text);
}

void app_send(struct app *app, const char *text)
{
    struct conversation *c = app->shown;
    app_remember_prompt(app, text);
    ui_set_history(app->ui, (const char *const *)app->history, app->n_history);
    app_draft_sent(app);
    outbox_add(&c->outbox, text);
    app_ask_next(app, c);
    app_draft_keep(app, c);
    app_start_next(app);
    if (app->answering && app->answering != c)
        ui_flash(app->ui, "An answer in another conversation is being finished first; Esc stops it");
    if (app->model == APP_MODEL_MISSING)
        app_notice(app, c, "Kept, and answered as soon as there is a model: /model FILE loads one.");
}

void app_take_back(struct app *app, const char *text)
{
    if (!app_drop_held_message(app, text))
        free(outbox_take_last(&app->shown->outbox, text));
    app_draft_keep(app, app->shown);
}

void app_store_outboxes(struct app *app)
{
    for (size_t i = 0; i <= app->n_waiting; i++) {
        struct conversation *c = i ? app->waiting[i - 1] : app->shown;
        for (char *text; !c->deleted && (text = outbox_take_first(&c->outbox)); free(text))
            conversation_save(c, app->store, conversation_ask(c, text, strlen(text)));
        app_draft_keep(app, c);
    }
}

void app_regenerate(struct app *app)
{
    struct conversation *c = app->shown;
    if (app_is_busy(app, c)) {
        ui_flash(app->ui, "The answer is still being written; Esc stops it");
        return;
    }
    store_id last = c->n ? c->messages[c->n - 1].id : 0;
    if (conversation_drop_answer(c)) /* it stays in the store, as the new one's sibling */
        ui_remove(app->ui, last);
    if (!conversation_awaits_answer(c)) {
        ui_flash(app->ui, "There is nothing to answer yet");
        return;
    }
    app->status.summarized = (int)c->n_summarized;
    app_enqueue(app, c);
    app_start_next(app);
}

void app_give_back_stopped(struct app *app)
{
    struct outbox *outbox = &app->shown->outbox;
    if (app->stopped)
        app_give_back_messages(app);
    app->stopped = false;
    if (app_is_busy(app, app->shown))
        return;
    for (size_t i = outbox->n; i > 0; i--)
        ui_put_back(app->ui, outbox->texts[i - 1]);
    outbox_free(outbox);
}

void app_stop(struct app *app)
{
    app->stopped = true;
    if (app_holds_messages(app))
        return;
    if (app->worker)
        worker_stop(app->worker);
    if (app->answering)
        return;
    if (app_waits(app, app->shown)) {
        app_forget_waiting(app, app->shown);
        ui_flash(app->ui, "Not answered; /regenerate asks again");
    }
    if (app->model != APP_MODEL_LOADING)
        app->activity = UI_IDLE; /* a compaction given up says nothing */
    app->status_changed = true;
}

void app_take_draft(struct app *app, const char *text, bool rests)
{
    free(app->draft);
    app->draft = mem_string(text);
    app->draft_rests = rests;
    app_draft_changed(app, text);
    app_prepare(app);
}

void app_prepare(struct app *app)
{
    const struct conversation *c = app->shown;
    bool opening = app->opening.kind != APP_OPENING_NOTHING; /* another one will be shown in a moment */
    if (app->quit || app->model != APP_MODEL_READY || app->answering || app->n_waiting || c->deleted || opening)
        return;
    struct conversation_job job;
    conversation_job_guess(&job, c, app->draft ? app->draft : "");
    settings_fill_job(app->settings, &job.job);
    worker_prepare(app->worker, &job.job, app->draft_rests);
    conversation_job_free(&job);
}

int app_save_timeout(const struct app *app)
{
    if (!app->answering || !app->answer_unsaved)
        return -1;
    return clock_timeout(app->answer_saved_ms + CONVERSATION_SAVE_MS);
}

void app_save_answer(struct app *app)
{
    const struct conversation_message *m = app->answering ? conversation_find(app->answering, app->answer) : NULL;
    if (m)
        conversation_save_text(app->answering, app->store, m);
    app->answer_unsaved = false;
    app->answer_saved_ms = clock_ms();
}
