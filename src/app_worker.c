/* app_worker.c - what the worker sends: the model, pieces of answers, summaries. See app_state.h. */
#include "app_state.h"
#include "base/buffer.h"
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the model ---- */

void app_load_model(struct app *app, const char *path)
{
    char *copy = mem_string(path);
    free(app->model_path);
    app->model_path = copy;
    app->n_loads++;
    app->model = APP_MODEL_LOADING; /* answers not begun yet are the new model's */
    worker_load(app->worker, path);
    if (!app->answering)
        return;
    const char *slash = strrchr(path, '/');
    struct buffer text = BUFFER_INIT;
    buffer_printf(&text, "%s is loaded when the answer being written has ended; Esc stops it",
                  slash ? slash + 1 : path);
    ui_flash(app->ui, text.s);
    buffer_free(&text);
}

static void loaded(struct app *app, const struct worker_event *event)
{
    bool chosen_now = app->model_was_loaded || settings_has(app->settings, LAYER_LIVE, SET_MODEL);
    app->model = --app->n_loads > 0 ? APP_MODEL_LOADING : APP_MODEL_READY;
    app->model_was_loaded = true;
    app->defaults = event->sampling;
    settings_take_defaults(app->settings, &event->sampling, event->threads);
    snprintf(app->status.model, sizeof app->status.model, "%s", event->model);
    app->status.window_size = event->n_ctx;
    if (!app->answering)
        app->activity = UI_IDLE;
    app->status_changed = true;
    if (chosen_now)
        store_put_setting(app->store, settings_table[SET_MODEL].name, app->model_path);
    app_push_settings(app);
    app_start_next(app);
    app_prepare(app);
}

static void load_failed(struct app *app, const struct worker_event *event)
{
    if (!app->model_was_loaded && settings_has(app->settings, LAYER_ARGUMENTS, SET_MODEL) &&
        !settings_has(app->settings, LAYER_LIVE, SET_MODEL)) {
        app_leave(app, 1, event->text);
        return;
    }
    app->model = --app->n_loads > 0 ? APP_MODEL_LOADING : app->model_was_loaded ? APP_MODEL_READY : APP_MODEL_MISSING;
    if (!app->answering)
        app->activity = UI_IDLE;
    app->status_changed = true;
    ui_flash(app->ui, event->text);
    struct buffer text = BUFFER_INIT;
    buffer_printf(&text, "%s\n%s", event->text,
                  app->model_was_loaded ? "The model stays as it was." : "/model FILE loads another one.");
    app_notice(app, app->shown, text.s);
    buffer_free(&text);
    app_start_next(app);
    app_prepare(app);
}

/* ---- answers ---- */

static void take_stats(struct app *app, const struct engine_stats *stats)
{
    int used = stats->context_tokens ? stats->context_tokens : stats->prompt_tokens;
    if (used)
        app->answering->window_used = used;
    if (app->answering == app->shown)
        app_show_stats(app, stats, app->shown->window_used);
}

static void grow(struct app *app, struct conversation_message *answer, const struct worker_event *event)
{
    struct conversation_parts grown = conversation_append(answer, event->text, event->len);
    if (app->answering == app->shown)
        app_show_growth(app, answer, grown);
    app->answer_unsaved = true;
    answer->stats = event->stats; /* stored with it, for a program killed now */
    take_stats(app, &event->stats);
    app->activity = answer->thought.state == ENGINE_THOUGHT_OPEN ? UI_THINKING : UI_WRITING;
}

static void compact_when_idle(struct app *app, struct conversation *c)
{
    if (c->deleted)
        return;
    struct conversation_job job;
    conversation_job_make(&job, c, 0);
    app->compacting = c;
    worker_compact(app->worker, &job.job);
    conversation_job_free(&job);
}

/* An answer has ended in a conversation that is not shown. */
static void announce(struct app *app, const struct conversation *c, bool failed)
{
    struct buffer text = BUFFER_INIT;
    buffer_printf(&text, failed ? "The answer in “%s” failed: F2 opens it." : "“%s” has been answered: F2 opens it.",
                  c->title);
    app_notice(app, app->shown, text.s);
    buffer_free(&text);
}

static void done(struct app *app, struct conversation_message *answer, const struct worker_event *event)
{
    struct conversation *c = app->answering;
    bool failed = event->end == WORKER_END_FAILED;
    take_stats(app, &event->stats);
    struct conversation_parts grown =
        conversation_finish(answer, event->end, failed ? NULL : event->text, &event->stats);
    if (c == app->shown)
        app_show_growth(app, answer, grown);
    if (event->end == WORKER_END_LENGTH && app->answer_max && event->stats.generated_tokens >= app->answer_max)
        answer->end = STORE_END_MAX_TOKENS;
    conversation_save(c, app->store, answer);
    if (c == app->shown)
        ui_finish(app->ui, answer->id, conversation_footnote(answer));
    app->answering = NULL;
    app->answer = 0;
    app->answer_unsaved = false;
    app->activity = app->model == APP_MODEL_LOADING ? UI_LOADING : UI_IDLE;
    if (failed && event->text) {
        app_notice(app, c, event->text);
        ui_flash(app->ui, event->text);
    }
    app_ask_next(app, c);
    if (c != app->shown && !app_is_busy(app, c) && !c->deleted)
        announce(app, c, failed);
    app_start_next(app);
    if (!app->answering && !app->quit && !failed)
        compact_when_idle(app, c);
    app_prepare(app); /* its turn comes after the compaction's */
    app_let_go(app, c);
}

/* ---- summaries ---- */

static void summarized(struct app *app, struct conversation *c, const struct worker_event *event)
{
    if (!c || c->deleted || !conversation_summarize(c, event->last, event->text))
        return;
    conversation_save_summary(c, app->store, event);
    char text[128];
    snprintf(text, sizeof text, "The first %zu messages are now carried as a summary%s.", c->n_summarized,
             event->method && strcmp(event->method, "extract") == 0 ? " (an extract, made without the model)" : "");
    app_notice(app, c, text);
    if (c == app->shown)
        app->status.summarized = (int)c->n_summarized;
    if (app->answering)
        app->activity = UI_THINKING;
    app->status_changed = true;
}

/* A compaction in idle time has ended, or was given up. */
static void compacted(struct app *app, struct conversation *c, const struct worker_event *event)
{
    if (app->answering)
        return;
    app->activity = app->model == APP_MODEL_LOADING ? UI_LOADING : UI_IDLE;
    app->status_changed = true;
    if (event->end == WORKER_END_STOPPED) /* and with it what was to be read ahead */
        app_prepare(app);
    if (!c || !event->stats.context_tokens)
        return;
    c->window_used = event->stats.context_tokens;
    if (c == app->shown)
        app->status.window_used = c->window_used;
}

/* ---- all of them ---- */

static void progress(struct app *app, enum ui_activity activity, float done_share)
{
    app->activity = activity;
    app->status.progress = done_share;
    app->status_changed = true;
}

void app_worker_event(struct app *app, const struct worker_event *event)
{
    struct conversation_message *answer = NULL;
    if (app->answering && event->answer == app->answer)
        answer = conversation_find(app->answering, app->answer);
    struct conversation *c = app_find(app, event->conversation);
    switch (event->type) {
    case WORKER_LOADING:
        if (!app->answering)
            progress(app, UI_LOADING, event->progress);
        break;
    case WORKER_LOADED: loaded(app, event); break;
    case WORKER_LOAD_FAILED: load_failed(app, event); break;
    case WORKER_STARTED:
        if (answer) {
            app->answer_unsaved |= !answer->stats.prompt_tokens;
            answer->stats = event->stats;
            take_stats(app, &event->stats);
            progress(app, UI_READING, event->progress);
        }
        break;
    case WORKER_PIECE:
        if (answer)
            grow(app, answer, event);
        break;
    case WORKER_DONE:
        if (answer)
            done(app, answer, event);
        else if (!event->answer)
            compacted(app, c, event);
        break;
    case WORKER_COMPACTING: progress(app, UI_SUMMARIZING, -1); break;
    case WORKER_SUMMARY: summarized(app, c, event); break;
    case WORKER_NOTICE: app_notice(app, event->conversation ? c : app->shown, event->text); break;
    }
}
