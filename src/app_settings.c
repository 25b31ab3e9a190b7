/* app_settings.c - settings between the panel, the store, the worker and the status line. See app_state.h. */
#include "app_state.h"
#include "base/mem.h"
#include "models.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In the panel an empty field is the model's own system prompt, and this word none at all. */
#define SYSTEM_NONE "none"
#define SYSTEM_HELP "empty = the model's, " SYSTEM_NONE " = none"

static const char *system_shown(const struct app *app)
{
    const char *system = app->shown->system;
    return !system ? "" : *system ? system : SYSTEM_NONE;
}

static const char *text_shown(const struct app *app, enum setting_id id)
{
    const struct setting_spec *row = &settings_table[id];
    return id == SET_SYSTEM              ? system_shown(app)
           : row->kind == SETTING_CHOICE ? row->choices[(int)settings_number(app->settings, id)]
                                         : NULL;
}

void app_push_settings(struct app *app)
{
    struct ui_setting rows[N_SETTINGS];
    size_t n = 0;
    for (int id = 0; id < N_SETTINGS; id++) {
        const struct setting_spec *row = &settings_table[id];
        if (!row->in_panel)
            continue;
        rows[n++] = (struct ui_setting){.name = row->name,
                                        .help = id == SET_SYSTEM ? SYSTEM_HELP : row->help,
                                        .min = row->min,
                                        .max = row->max,
                                        .step = row->step,
                                        .decimals = row->decimals,
                                        .value = settings_number(app->settings, id),
                                        .blank = row->blank,
                                        .changed = settings_changed(app->settings, id),
                                        .text = text_shown(app, id),
                                        .choices = row->choices};
    }
    ui_set_settings(app->ui, rows, n);

    struct engine_sampling sampling = settings_sampling(app->settings, &app->defaults);
    if (app->worker && app->model_was_loaded)
        worker_set_sampling(app->worker, &sampling);
    app->status.temperature = sampling.temperature;
    app->status.top_p = sampling.top_p;
    app->status_changed = true;
}

static void push_mouse(struct app *app)
{
    ui_set_mouse(app->ui, settings_number(app->settings, SET_MOUSE) != 0);
}

/* ---- the panel ---- */

static void changed(struct app *app, enum setting_id id)
{
    bool kept = !settings_table[id].for_now && settings_changed(app->settings, id);
    char *text = kept ? settings_format(app->settings, id) : NULL;
    store_put_setting(app->store, settings_table[id].name, text);
    free(text);
    if (id == SET_THREADS && app->worker)
        worker_set_threads(app->worker, (int)settings_number(app->settings, id));
    if (id == SET_MOUSE)
        push_mouse(app);
    app_push_settings(app);
}

/* For the conversation shown and those to come. */
static void system_changed(struct app *app)
{
    const char *system = settings_text(app->settings, SET_SYSTEM);
    struct conversation *c = app->shown;
    free(c->system);
    c->system = mem_string(system);
    conversation_save_system(c, app->store);
    app_push_settings(app);
    app_prepare(app);
}

static void set_system(struct app *app, const char *text)
{
    const char *system = !*text ? NULL : strcmp(text, SYSTEM_NONE) == 0 ? "" : text;
    settings_put_text(app->settings, LAYER_LIVE, SET_SYSTEM, system);
    store_put_setting(app->store, settings_table[SET_SYSTEM].name, system);
    system_changed(app);
}

static int panel_setting(struct app *app, const char *name)
{
    int id = settings_find(name);
    if (id >= 0 && settings_table[id].in_panel)
        return id;
    char text[160];
    if (id < 0)
        snprintf(text, sizeof text, "There is no setting '%.60s': /settings shows them", name);
    else if (id == SET_MODEL)
        snprintf(text, sizeof text, "/model FILE loads another model");
    else
        snprintf(text, sizeof text, "%s is set at the start: --%s, or config.ini", settings_table[id].name,
                 settings_table[id].option ? settings_table[id].option : settings_table[id].name);
    ui_flash(app->ui, text);
    return -1;
}

void app_set(struct app *app, const char *name, double value)
{
    int id = panel_setting(app, name);
    if (id < 0)
        return;
    if (settings_table[id].kind != SETTING_NUMBER) {
        ui_flash(app->ui, "This setting is a text");
        return;
    }
    settings_put_number(app->settings, LAYER_LIVE, id, value);
    changed(app, id);
}

void app_set_text(struct app *app, const char *name, const char *value)
{
    char err[200];
    int id = panel_setting(app, name);
    if (id < 0)
        return;
    if (id == SET_SYSTEM) {
        set_system(app, value);
    } else if (settings_read(app->settings, LAYER_LIVE, id, value, err, sizeof err)) {
        changed(app, id);
    } else {
        char text[256];
        snprintf(text, sizeof text, "%s %s", name, err);
        ui_flash(app->ui, text);
    }
}

void app_reset(struct app *app, const char *name)
{
    int id = panel_setting(app, name);
    if (id < 0)
        return;
    settings_reset(app->settings, id);
    if (id == SET_SYSTEM) {
        store_put_setting(app->store, settings_table[id].name, NULL);
        system_changed(app);
    } else {
        changed(app, id);
    }
}

/* ---- at the start ---- */

static void open_worker(struct app *app)
{
    char err[512];
    char *path = model_choose(app->settings, err, sizeof err);
    if (!path) {
        app_leave(app, 1, err);
        return;
    }
    free(app->model_path);
    app->model_path = path;
    struct worker_options options = settings_worker_options(app->settings, path);
    app->worker = worker_open(&options, app_wake, app, err, sizeof err);
    app->n_loads = 1;
    if (!app->worker)
        app_leave(app, 1, err);
}

void app_take_stored_settings(struct app *app, const struct store_event *event)
{
    char err[200]; /* a value from another version that no longer fits is passed over */
    for (size_t i = 0; i < event->n; i++) {
        int id = settings_find(event->settings[i].key);
        if (id >= 0 && (settings_table[id].in_panel || id == SET_MODEL))
            settings_read(app->settings, LAYER_STORE, id, event->settings[i].value, err, sizeof err);
    }
    if (!app->shown->stored) {
        free(app->shown->system);
        app->shown->system = mem_string(settings_text(app->settings, SET_SYSTEM));
    }
    if (!app->worker)
        open_worker(app);
    push_mouse(app); /* not earlier: "off" may be among the stored settings */
    app_push_settings(app);
}
