/* app_events.c - what the person wants. See app_state.h. */
#include "app_state.h"
#include "base.h"
#include "buffer.h"
#include "models.h"

#include <stdlib.h>
#include <string.h>

static store_id or_shown(const struct app *app, int64_t id)
{
    return id ? id : app->shown->id;
}

static void send(struct app *app, const struct ui_event *event)
{
    app_send(app, event->text);
}

static void draft(struct app *app, const struct ui_event *event)
{
    app_take_draft(app, event->text, event->value > 0);
}

static void stop(struct app *app, const struct ui_event *event)
{
    (void)event;
    app_stop(app);
}

static void regenerate(struct app *app, const struct ui_event *event)
{
    (void)event;
    app_regenerate(app);
}

static void new_conversation(struct app *app, const struct ui_event *event)
{
    (void)event;
    app_show_new(app);
}

static void list(struct app *app, const struct ui_event *event)
{
    (void)event;
    store_list(app->store, 0);
}

static void open(struct app *app, const struct ui_event *event)
{
    app_open(app, event->id, event->message);
}

static void alternative(struct app *app, const struct ui_event *event)
{
    app_step(app, (int)event->value);
}

static void rename_conversation(struct app *app, const struct ui_event *event)
{
    store_id id = or_shown(app, event->id);
    struct conversation *c = app_held(app, id);
    if (c) { /* or its next row would bring the old title back */
        free(c->title);
        c->title = mem_string(event->text);
        c->named = true;
    }
    if (!c || c->stored)
        store_rename(app->store, id, event->text);
    if (id == app->shown->id)
        ui_set_title(app->ui, event->text);
    store_list(app->store, 0);
}

static void delete (struct app *app, const struct ui_event *event)
{
    store_id id = or_shown(app, event->id);
    struct conversation *c = app_held(app, id);
    bool stored = !c || c->stored;
    if (c)
        c->deleted = true;
    if (c && (c == app->answering || c == app->compacting))
        worker_stop(app->worker);
    if (stored)
        store_delete(app->store, id);
    if (c)
        app_forget_waiting(app, c);
    if (id == app->shown->id)
        app_show_new(app);
    store_list(app->store, 0);
}

static void set(struct app *app, const struct ui_event *event)
{
    app_set(app, event->text, event->value);
}

static void reset(struct app *app, const struct ui_event *event)
{
    app_reset(app, event->text);
}

static void set_text(struct app *app, const struct ui_event *event)
{
    app_set_text(app, event->text, event->text + strlen(event->text) + 1);
}

static void search(struct app *app, const struct ui_event *event)
{
    store_search(app->store, event->text, 0, 0);
}

/* What /model could have been given. */
static void name_models(struct app *app)
{
    char *names = model_names();
    struct buffer text = {0};
    buffer_printf(&text, "Models at hand: %s", names);
    if (*names)
        app_notice(app, app->shown, text.s);
    buffer_free(&text);
    free(names);
}

static void choose_model(struct app *app, const struct ui_event *event)
{
    if (!app->worker)
        return; /* the first milliseconds */
    char err[512];
    char *path = model_resolve(event->text);
    if (model_check(path, err, sizeof err)) {
        settings_put_text(app->settings, LAYER_LIVE, SET_MODEL, path);
        app_load_model(app, path);
    } else {
        ui_flash(app->ui, err);
        name_models(app);
    }
    free(path);
}

static void offer_models(struct app *app, const struct ui_event *event)
{
    char **names;
    size_t n = models_like(event->text, &names);
    ui_set_models(app->ui, (const char *const *)names, n);
    models_free(names, n);
}

static void summary(struct app *app, const struct ui_event *event)
{
    (void)event;
    app_show_summary(app);
}

static void quit(struct app *app, const struct ui_event *event)
{
    (void)event;
    app_leave(app, 0, NULL);
}

void app_ui_event(struct app *app, const struct ui_event *event)
{
    static void (*const handlers[])(struct app *, const struct ui_event *) = {
        [UI_SEND] = send,
        [UI_DRAFT] = draft,
        [UI_STOP] = stop,
        [UI_REGENERATE] = regenerate,
        [UI_ALTERNATIVE] = alternative,
        [UI_NEW] = new_conversation,
        [UI_LIST] = list,
        [UI_OPEN] = open,
        [UI_RENAME] = rename_conversation,
        [UI_DELETE] = delete,
        [UI_SET] = set,
        [UI_RESET] = reset,
        [UI_SET_TEXT] = set_text,
        [UI_SEARCH] = search,
        [UI_MODEL] = choose_model,
        [UI_MODELS] = offer_models,
        [UI_SUMMARY] = summary,
        [UI_QUIT] = quit,
    };
    size_t type = (size_t)event->type;
    if (type < sizeof handlers / sizeof *handlers && handlers[type])
        handlers[type](app, event);
}
