/*
 * app_hold.c - what the person does while the store still loads the conversation to be shown. See app_state.h.
 *
 * From the moment a conversation is asked for, events that mean "the conversation shown" mean that one. They wait
 * here, in order, and are handled once it is there. If it does not come, messages go back into the draft.
 */
#include "app_state.h"
#include "base/mem.h"
#include "commands.h"

#include <stdlib.h>
#include <string.h>

/* Copies the event; UI_SET_TEXT has two strings in its text. */
static void hold(struct app *app, const struct ui_event *event)
{
    size_t len = strlen(event->text);
    if (event->type == UI_SET_TEXT)
        len += 1 + strlen(event->text + len + 1);
    char *text = mem_copy(event->text, len);
    app->held = mem_resize(app->held, app->n_held + 1, sizeof *app->held);
    app->held[app->n_held] = *event;
    app->held[app->n_held++].text = text;
}

static size_t count_held(const struct app *app, enum ui_event_type type)
{
    size_t n = 0;
    for (size_t i = 0; i < app->n_held; i++)
        n += app->held[i].type == type;
    return n;
}

bool app_holds_messages(const struct app *app)
{
    return count_held(app, UI_SEND) > 0;
}

bool app_hold(struct app *app, const struct ui_event *event, enum app_event_kind kind)
{
    bool held = app->opening.kind != APP_OPENING_NOTHING;
    switch (kind) {
    case APP_EVENT_OF_SHOWN: break;
    case APP_EVENT_SWITCHES: held = held && app->n_held; break; /* else it takes the place of the open under way */
    case APP_EVENT_LEAVES: held = held && app_holds_messages(app) && !count_held(app, UI_QUIT); break;
    case APP_EVENT_OF_ALL: held = false; break;
    }
    if (held)
        hold(app, event);
    return held;
}

/* Takes all held events out; handling one may begin another open, and the rest is held again. */
static size_t take_held(struct app *app, struct ui_event **held)
{
    size_t n = app->n_held;
    *held = app->held;
    app->held = NULL;
    app->n_held = 0;
    return n;
}

static void free_held(struct ui_event *held, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free((char *)held[i].text);
    free(held);
}

void app_replay_held(struct app *app)
{
    struct ui_event *held;
    size_t n = take_held(app, &held);
    for (size_t i = 0; i < n; i++)
        app_ui_event(app, &held[i]);
    free_held(held, n);
}

static bool switches(const struct ui_event *event)
{
    return event->type == UI_OPEN || event->type == UI_NEW || event->type == UI_QUIT;
}

/* Messages among the first n, the newest first: each goes in front of what is in the draft. */
static void put_back(struct app *app, const struct ui_event *held, size_t n)
{
    for (size_t i = n; i > 0; i--)
        if (held[i - 1].type == UI_SEND)
            ui_put_back(app->ui, held[i - 1].text);
}

void app_give_back_held(struct app *app)
{
    struct ui_event *held;
    size_t n = take_held(app, &held), meant = 0; /* for the conversation that did not come */
    while (meant < n && !switches(&held[meant]))
        meant++;
    put_back(app, held, meant);
    for (size_t i = meant; i < n; i++)
        app_ui_event(app, &held[i]);
    free_held(held, n);
}

void app_give_back_messages(struct app *app)
{
    struct ui_event *held;
    size_t n = take_held(app, &held);
    put_back(app, held, n);
    for (size_t i = 0; i < n; i++)
        if (held[i].type != UI_SEND)
            hold(app, &held[i]);
    free_held(held, n);
}

bool app_drop_held_message(struct app *app, const char *text)
{
    for (size_t i = app->n_held; i > 0; i--) {
        struct ui_event *e = &app->held[i - 1];
        if (e->type != UI_SEND || strcmp(e->text, text) != 0)
            continue;
        free((char *)e->text);
        memmove(e, e + 1, (app->n_held - i) * sizeof *e);
        app->n_held--;
        return true;
    }
    return false;
}

void app_print_held(struct app *app)
{
    struct ui_event *held;
    size_t n = take_held(app, &held);
    for (size_t i = 0; i < n; i++)
        if (held[i].type == UI_SEND)
            app->exit_status = command_fail(1, "not sent: %s", held[i].text);
    free_held(held, n);
}
