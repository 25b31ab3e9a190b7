/* app_events.c - what the person wants. See app_state.h. */
#include "app_state.h"
#include "base/buffer.h"
#include "base/mem.h"
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

static void take_back(struct app *app, const struct ui_event *event)
{
    app_take_back(app, event->text);
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
    app_draft_leave(app);
    app->opening = (struct app_opening){0};
    app_show_new(app);
}

static void list(struct app *app, const struct ui_event *event)
{
    (void)event;
    app_list(app);
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
    struct conversation *c = app_find(app, id);
    if (c) { /* or its next row would bring the old title back */
        free(c->title);
        c->title = mem_string(event->text);
        c->named = true;
    }
    if (!c || c->stored)
        store_rename(app->store, id, event->text);
    if (id == app->shown->id)
        ui_set_title(app->ui, event->text);
    app_list(app);
}

static void delete (struct app *app, const struct ui_event *event)
{
    store_id id = or_shown(app, event->id);
    struct conversation *c = app_find(app, id);
    bool stored = !c || c->stored;
    if (c)
        c->deleted = true;
    if (c && (c == app->answering || c == app->compacting))
        worker_stop(app->worker);
    if (stored)
        store_delete(app->store, id);
    if (c)
        app_forget_waiting(app, c);
    if (id == app->opening.id && app->opening.kind) {
        app->opening = (struct app_opening){0};
        app_give_back_held(app);
    }
    if (id == app->shown->id)
        app_show_new(app);
    app_list(app);
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
    app->search_tag = app_query(app);
    store_search(app->store, event->text, 0, app->search_tag);
}

/* What /model could have been given. */
static void name_models(struct app *app)
{
    char *names = model_names();
    struct buffer text = BUFFER_INIT;
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
    if (event->value > 0)
        app->quit_when_idle = true;
    else
        app_leave(app, 0, NULL);
}

static const struct {
    void (*handle)(struct app *, const struct ui_event *);
    enum app_event_kind kind;
} handlers[] = {
    [UI_SEND] = {send, APP_EVENT_OF_SHOWN},
    [UI_TAKE_BACK] = {take_back, APP_EVENT_OF_ALL},
    [UI_DRAFT] = {draft, APP_EVENT_OF_ALL},
    [UI_STOP] = {stop, APP_EVENT_OF_ALL},
    [UI_REGENERATE] = {regenerate, APP_EVENT_OF_SHOWN},
    [UI_ALTERNATIVE] = {alternative, APP_EVENT_OF_SHOWN},
    [UI_NEW] = {new_conversation, APP_EVENT_SWITCHES},
    [UI_LIST] = {list, APP_EVENT_OF_ALL},
    [UI_OPEN] = {open, APP_EVENT_SWITCHES},
    [UI_RENAME] = {rename_conversation, APP_EVENT_OF_SHOWN},
    [UI_DELETE] = {delete, APP_EVENT_OF_SHOWN},
    [UI_SET] = {set, APP_EVENT_OF_ALL},
    [UI_RESET] = {reset, APP_EVENT_OF_SHOWN},
    [UI_SET_TEXT] = {set_text, APP_EVENT_OF_SHOWN},
    [UI_SEARCH] = {search, APP_EVENT_OF_ALL},
    [UI_MODEL] = {choose_model, APP_EVENT_OF_ALL},
    [UI_MODELS] = {offer_models, APP_EVENT_OF_ALL},
    [UI_SUMMARY] = {summary, APP_EVENT_OF_SHOWN},
    [UI_QUIT] = {quit, APP_EVENT_LEAVES},
};

/* Some events act on the conversation shown only with certain arguments: no id, or the system prompt's name. */
static enum app_event_kind kind_of(const struct ui_event *event)
{
    bool of_shown = true;
    if (event->type == UI_RENAME || event->type == UI_DELETE)
        of_shown = !event->id;
    else if (event->type == UI_RESET || event->type == UI_SET_TEXT)
        of_shown = settings_find(event->text) == SET_SYSTEM;
    return of_shown ? handlers[event->type].kind : APP_EVENT_OF_ALL;
}

void app_ui_event(struct app *app, const struct ui_event *event)
{
    size_t type = (size_t)event->type;
    if (type < sizeof handlers / sizeof *handlers && handlers[type].handle && !app_hold(app, event, kind_of(event)))
        handlers[type].handle(app, event);
}
