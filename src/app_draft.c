/* app_draft.c - each conversation has its own draft, on the screen while it is shown, and on disk. See app_state.h. */
#include "app_state.h"
#include "base/buffer.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* Conversations without messages share one draft: that of "the new conversation". */
static struct conversation_draft *draft_of(struct app *app, struct conversation *c)
{
    return c->stored ? &c->draft : &app->new_draft;
}

static void set_typed(struct conversation_draft *d, const char *text)
{
    char *copy = *text ? mem_string(text) : NULL;
    free(d->typed);
    d->typed = copy;
}

/* What is typed now belongs to the conversation that is being opened, whose draft is not known yet. */
static bool is_opening(const struct app *app)
{
    return app->opening.kind == APP_OPENING_RESUMED || app->opening.kind == APP_OPENING_CHOSEN;
}

void app_draft_keep(struct app *app, struct conversation *c)
{
    struct conversation_draft *d = draft_of(app, c);
    struct buffer text = BUFFER_INIT;
    if (c->deleted)
        return;
    for (size_t i = 0; i < c->outbox.n; i++) /* not sent yet either */
        buffer_printf(&text, "%s%s", i ? "\n" : "", c->outbox.texts[i]);
    if (d->typed)
        buffer_printf(&text, "%s%s", text.len ? "\n" : "", d->typed);
    if (strcmp(text.s, d->stored ? d->stored : "") != 0) {
        d->id = d->id ? d->id : store_new_id();
        store_put_draft(app->store,
                        &(struct store_draft){.id = d->id, .conversation = c->stored ? c->id : 0, .text = text.s});
        if (!text.len)
            d->id = 0;
        free(d->stored);
        d->stored = mem_string(text.s);
    }
    buffer_free(&text);
}

void app_draft_changed(struct app *app, const char *text)
{
    if (is_opening(app)) {
        set_typed(&app->opening_draft, text);
        return;
    }
    set_typed(draft_of(app, app->shown), text);
    app_draft_keep(app, app->shown);
}

void app_draft_sent(struct app *app)
{
    set_typed(draft_of(app, app->shown), "");
    if (!app->shown->stored) /* it is about to be: from then on it has a draft of its own */
        app_draft_keep(app, app->shown);
}

void app_draft_leave(struct app *app)
{
    const char *typed = app->opening_draft.typed;
    if (is_opening(app) && typed) /* beside the draft that the conversation may have */
        store_put_draft(app->store, &(struct store_draft){store_new_id(), app->opening.id, (char *)typed, 0});
    conversation_draft_free(&app->opening_draft);
    free(app->draft);
    app->draft = NULL;
}

void app_draft_enter(struct app *app)
{
    const char *typed = draft_of(app, app->shown)->typed, *since = app->opening_draft.typed;
    if (since && !*ui_draft(app->ui)) /* the person has gone on to yet another conversation */
        ui_put_back(app->ui, since);
    conversation_draft_free(&app->opening_draft);
    if (typed)
        ui_put_back(app->ui, typed);
}

void app_draft_take_new(struct app *app, const struct store_event *event)
{
    struct conversation_draft *d = &app->new_draft;
    if (!event->draft.id)
        return;
    if (d->id && (app->shown->stored || is_opening(app)))
        return; /* a newer one has been typed: the stored one stays for the next start */
    if (d->id)  /* it is on the screen: the two become one */
        store_put_draft(app->store, &(struct store_draft){.id = d->id});
    d->id = event->draft.id;
    free(d->stored);
    d->stored = mem_string(event->draft.text);
    set_typed(d, event->draft.text);
    if (!app->shown->stored && !is_opening(app))
        app_draft_enter(app);
}

void app_draft_leave_program(struct app *app)
{
    const char *typed = ui_draft(app->ui);
    if (!*typed)
        return;
    app_draft_changed(app, typed);
    if (is_opening(app))
        app_draft_leave(app);
}
