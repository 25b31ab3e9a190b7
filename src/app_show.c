/* app_show.c - which conversation is on the screen, and what the store sends. See app_state.h. */
#include "app_state.h"
#include "base/buffer.h"
#include "base/mem.h"
#include "excerpt.h"
#include "resume.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HISTORY_MAX 500

/* ---- the transcript ---- */

void app_show_growth(struct app *app, const struct conversation_message *m, struct conversation_parts grown)
{
    struct ui_thought thought = {.began_ms = m->thought_began_ms,
                                 .ended_ms = m->thought_ended_ms,
                                 .whole = m->thought.state == ENGINE_THOUGHT_CLOSED};
    if (m->thought.end > m->thought.start)
        ui_append_thought(app->ui, m->id, &thought, grown.thought, grown.thought_len);
    if (grown.answer_len)
        ui_append(app->ui, m->id, grown.answer, grown.answer_len);
}

void app_show_message(struct app *app, const struct conversation_message *m)
{
    struct conversation_parts parts = conversation_parts(m);
    if (m->role == STORE_USER) {
        ui_add(app->ui, m->id, UI_PERSON, parts.answer, parts.answer_len, m->saved ? m->created_ms : 0);
    } else {
        ui_add(app->ui, m->id, UI_MODEL_ANSWER, "", 0, m->created_ms);
        app_show_growth(app, m, parts);
    }
    ui_set_alternative(app->ui, m->id, m->number, m->count);
    if (m->id != app->answer)
        ui_finish(app->ui, m->id, conversation_footnote(m));
}

static void show_notice(struct app *app, const char *text)
{
    ui_add(app->ui, 0, UI_NOTICE, text, strlen(text), 0);
}

void app_show_stats(struct app *app, const struct engine_stats *stats, int window_used)
{
    struct ui_status *status = &app->status;
    status->window_used = window_used;
    status->first_token_s = stats->first_token_ms / 1e3;
    bool known = stats->generated_tokens > 1 && stats->decode_ms > 0;
    status->tokens_per_second = known ? (stats->generated_tokens - 1) * 1e3 / stats->decode_ms : 0;
    app->status_changed = true;
}

void app_show(struct app *app, struct conversation *c)
{
    struct conversation *before = app->shown;
    app->shown = c;
    if (before != c)
        app_let_go(app, before);
    ui_show_conversation(app->ui, c->id, c->title);
    for (size_t i = 0; i < c->n; i++) {
        if (c->messages[i].role != STORE_SYSTEM)
            app_show_message(app, &c->messages[i]);
        if (c->summary && i + 1 == c->n_summarized)
            show_notice(app, "The model sees what is above as a summary.");
    }
    app->status.summarized = (int)c->n_summarized;
    if (app->store_notice)
        show_notice(app, app->store_notice);
    free(app->store_notice);
    app->store_notice = NULL;
    app_show_stats(app, c->n ? &c->messages[c->n - 1].stats : &(struct engine_stats){0}, c->window_used);
    app_push_settings(app); /* the system prompt is the conversation's own */
    app_prepare(app);
}

void app_show_new(struct app *app)
{
    app_show(app, conversation_new(settings_text(app->settings, SET_SYSTEM)));
    app_draft_enter(app);
}

/* The path of a busy conversation stays as it is: the answer belongs at its end. */
void app_open(struct app *app, store_id id, store_id message)
{
    struct conversation *c = app_find(app, id);
    app_draft_leave(app);
    app->opening = (struct app_opening){0};
    if (c && (!message || conversation_find(c, message) || app_is_busy(app, c))) {
        app_show(app, c);
        app_draft_enter(app);
        return;
    }
    app->opening = (struct app_opening){APP_OPENING_CHOSEN, app_query(app), id, message};
    store_load_through(app->store, id, message, 0, app->opening.tag);
}

void app_step(struct app *app, int step)
{
    const struct conversation *c = app->shown;
    const struct conversation_message *last = c->n ? &c->messages[c->n - 1] : NULL;
    if (!last || last->role != STORE_ASSISTANT || last->count < 2) {
        ui_flash(app->ui, "There is no other answer to the last message; /regenerate asks for one");
        return;
    }
    if (app_is_busy(app, c))
        return;
    app->opening = (struct app_opening){APP_OPENING_ALTERNATIVE, app_query(app), c->id, last->id};
    store_load_through(app->store, c->id, last->id, step, app->opening.tag);
}

/* Shows a conversation on the path loaded, which is the one the store is to remember. */
static void show_path(struct app *app, struct conversation *c, const struct store_event *loaded)
{
    store_id leaf = c->n ? c->messages[c->n - 1].id : 0;
    app_show(app, c);
    if (leaf != loaded->conversation.leaf)
        conversation_save_path(c, app->store);
}

void app_notice(struct app *app, const struct conversation *c, const char *text)
{
    if (c != app->shown)
        return;
    /* Above an answer that has not begun, for it tells what the answer will rest on. */
    struct conversation_message *answer = app->answering == c ? conversation_find(app->shown, app->answer) : NULL;
    bool above = answer && !answer->text.len && answer == &c->messages[c->n - 1];
    if (above)
        ui_remove(app->ui, answer->id);
    show_notice(app, text);
    if (above)
        app_show_message(app, answer);
}

void app_show_summary(struct app *app)
{
    const struct conversation *c = app->shown;
    struct buffer text = BUFFER_INIT;
    if (c->summary)
        buffer_printf(&text, "In place of the first %zu messages the model sees this:\n%s", c->n_summarized,
                      c->summary);
    else
        buffer_puts(&text, "The model sees every message as it is; there is no summary.");
    app_notice(app, c, text.s);
    buffer_free(&text);
}

/* ---- earlier prompts ---- */

static void forget_prompt(struct app *app, size_t i)
{
    free(app->history[i]);
    memmove(app->history + i, app->history + i + 1, (--app->n_history - i) * sizeof *app->history);
}

void app_remember_prompt(struct app *app, const char *text)
{
    if (!text)
        return;
    for (size_t i = 0; i < app->n_history; i++) /* once is enough: the latest place counts */
        if (strcmp(app->history[i], text) == 0) {
            forget_prompt(app, i);
            break;
        }
    if (app->n_history == HISTORY_MAX)
        forget_prompt(app, 0);
    app->history = mem_resize(app->history, app->n_history + 1, sizeof *app->history);
    app->history[app->n_history++] = mem_string(text);
}

/* What was typed in all conversations before this program started, and behind it what was typed since. */
static void take_history(struct app *app, const struct store_event *event)
{
    char **since = app->history;
    size_t n_since = app->n_history;
    app->history = NULL;
    app->n_history = 0;
    for (size_t i = event->n; i > 0; i--)
        app_remember_prompt(app, event->prompts[i - 1]);
    for (size_t i = 0; i < n_since; i++) {
        app_remember_prompt(app, since[i]);
        free(since[i]);
    }
    free(since);
    ui_set_history(app->ui, (const char *const *)app->history, app->n_history);
}

/* ---- the store's events ---- */

/* The conversation asked for has come. One in memory is shown as it is, unless another path was asked for. */
static void show_opened(struct app *app, const struct app_opening *opening, const struct store_event *event)
{
    struct conversation *in_memory = app_find(app, event->conversation.id);
    bool other_path = opening->message && in_memory && !app_is_busy(app, in_memory);
    struct conversation *c = in_memory && !other_path ? in_memory : conversation_from_store(event);
    if (opening->kind == APP_OPENING_RESUMED && settings_has(app->settings, LAYER_ARGUMENTS, SET_SYSTEM)) {
        free(c->system);
        c->system = mem_string(settings_text(app->settings, SET_SYSTEM));
        conversation_save_system(c, app->store);
    }
    if (in_memory && c != in_memory) { /* it is newer than the stored one */
        conversation_draft_free(&c->draft);
        c->draft = in_memory->draft;
        in_memory->draft = (struct conversation_draft){0};
    }
    if (c == in_memory)
        app_show(app, c);
    else
        show_path(app, c, event);
    if (opening->kind != APP_OPENING_ALTERNATIVE)
        app_draft_enter(app);
}

static void opened(struct app *app, const struct store_event *event)
{
    struct app_opening opening = app->opening;
    app->opening = (struct app_opening){0};
    if (event->conversation.id) {
        show_opened(app, &opening, event);
        app_replay_held(app);
    } else if (opening.kind == APP_OPENING_RESUMED && opening.id) {
        char text[80];
        snprintf(text, sizeof text, "there is no conversation %lld", (long long)opening.id);
        app_leave(app, 1, text);
    } else if (opening.kind == APP_OPENING_RESUMED) {
        ui_flash(app->ui, "There is no conversation to resume yet: this is a new one");
        app_draft_enter(app);
        app_prepare(app);
        app_replay_held(app);
    } else {
        ui_flash(app->ui, "This conversation is no longer there");
        app_draft_enter(app);
        app_list(app);
        app_prepare(app);
        app_give_back_held(app);
    }
}

/* A resumed conversation that cannot be read ends the program: what is typed next was meant for it alone. */
static void query_failed(struct app *app, const struct store_event *event)
{
    bool opening = event->tag && event->tag == app->opening.tag;
    bool resumed = opening && app->opening.kind == APP_OPENING_RESUMED;
    if (opening)
        app->opening = (struct app_opening){0};
    if (resumed) {
        app_leave(app, 1, event->text);
        return;
    }
    ui_flash(app->ui, event->text);
    if (event->tag && event->tag == app->list_tag)
        ui_list_failed(app->ui);
    if (opening) {
        app_draft_enter(app);
        app_prepare(app);
        app_give_back_held(app);
    }
}

static void loaded(struct app *app, const struct store_event *event)
{
    if (event->tag == app->opening.tag)
        opened(app, event);
}

void app_list(struct app *app)
{
    app->list_tag = app_query(app);
    store_list(app->store, app->list_tag);
}

/* The list that tells which conversation --resume means. */
static void choose_resumed(struct app *app, const struct store_event *event)
{
    char err[512];
    app->opening.id = resume_choose(app->options->resumed, event->conversations, event->n, err, sizeof err);
    if (!app->opening.id) {
        app_leave(app, 1, err);
        return;
    }
    app->opening.tag = app_query(app);
    store_load(app->store, app->opening.id, app->opening.tag);
}

static void listed(struct app *app, const struct store_event *event)
{
    if (event->tag == app->opening.tag && app->opening.kind == APP_OPENING_RESUMED) {
        choose_resumed(app, event);
        return;
    }
    struct ui_conversation *rows = mem_new(event->n, sizeof *rows);
    for (size_t i = 0; i < event->n; i++)
        rows[i] = (struct ui_conversation){.id = event->conversations[i].id,
                                           .title = event->conversations[i].title,
                                           .updated_ms = event->conversations[i].updated_ms};
    ui_set_conversations(app->ui, rows, event->n);
    free(rows);
}

static const char *who_of(const struct store_hit *hit)
{
    return !hit->message ? NULL : hit->role == STORE_USER ? "you" : "chinwag";
}

static void found(struct app *app, const struct store_event *event)
{
    struct ui_conversation *rows = mem_new(event->n, sizeof *rows);
    char **excerpts = mem_new(event->n, sizeof *excerpts);
    for (size_t i = 0; i < event->n; i++) {
        const struct store_hit *hit = &event->hits[i];
        excerpts[i] = hit->role == STORE_ASSISTANT ? excerpt_of_answer(hit->excerpt) : mem_string(hit->excerpt);
        rows[i] = (struct ui_conversation){.id = hit->conversation,
                                           .title = hit->title,
                                           .updated_ms = hit->created_ms,
                                           .detail = excerpts[i],
                                           .message = hit->message,
                                           .who = who_of(hit)};
    }
    ui_set_found(app->ui, event->text, rows, event->n);
    for (size_t i = 0; i < event->n; i++)
        free(excerpts[i]);
    free(excerpts);
    free(rows);
}

/* Shows what the store reports about its file; a conversation that is still to come must not remove it. */
static void store_notice(struct app *app, const char *text)
{
    if (!app->opening.tag) {
        app_notice(app, app->shown, text);
        return;
    }
    free(app->store_notice);
    app->store_notice = mem_string(text);
}

static void read_only(struct app *app, const struct store_event *event)
{
    struct buffer text = {0};
    buffer_printf(&text, "Nothing is saved: %s. What you write is gone when you leave.", event->text);
    ui_set_warning(app->ui, text.s);
    store_notice(app, text.s);
    buffer_free(&text);
}

static void failing(struct app *app, const struct store_event *event)
{
    struct buffer text = BUFFER_INIT;
    buffer_printf(&text, "Not saved: %s. It is tried again every second; leave only if that cannot be mended.",
                  event->text);
    ui_set_warning(app->ui, text.s);
    app_notice(app, app->shown, text.s);
    buffer_free(&text);
}

/* The time beside a message shows that it is on the disk. */
static void saved(struct app *app, const struct store_event *event)
{
    struct conversation *c = app_find(app, event->conversation.id);
    struct conversation_message *m = c ? conversation_find(c, event->message) : NULL;
    if (!m)
        return;
    m->saved = true;
    if (c == app->shown)
        ui_set_time(app->ui, m->id, m->created_ms);
}

void app_store_event(struct app *app, const struct store_event *event)
{
    app->n_queries -= event->tag != 0;
    switch (event->type) {
    case STORE_SETTINGS:
        app_take_stored_settings(app, event);
        if (app->options->question) /* waits for the conversation to be resumed, as a typed one does */
            app_ui_event(app, &(struct ui_event){.type = UI_SEND, .text = app->options->question});
        break;
    case STORE_DRAFT: app_draft_take_new(app, event); break;
    case STORE_HISTORY: take_history(app, event); break;
    case STORE_LIST: listed(app, event); break;
    case STORE_LOADED: loaded(app, event); break;
    case STORE_FOUND:
        if (event->tag == app->search_tag)
            found(app, event);
        break;
    case STORE_FAILING: failing(app, event); break;
    case STORE_RECOVERED:
        ui_set_warning(app->ui, NULL);
        ui_flash(app->ui, "Everything is saved again");
        app_notice(app, app->shown, "Everything is saved again.");
        break;
    case STORE_SAVED: saved(app, event); break;
    case STORE_NOTICE: store_notice(app, event->text); break;
    case STORE_READ_ONLY: read_only(app, event); break;
    case STORE_OPEN_FAILED: app_leave(app, 1, event->text); break;
    case STORE_ERROR: query_failed(app, event); break;
    }
}
