/* prompt.c - the question asked in the draft's place or in a panel's row; see state.h. */
#include "state.h"

#include "../src/base/buffer.h"
#include "../src/base/mem.h"
#include "screen.h"
#include "text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool prompt_in_panel(const struct ui *ui)
{
    switch (ui->prompt.kind) {
    case PROMPT_VALUE:
    case PROMPT_FILTER: return true;
    case PROMPT_RENAME:
    case PROMPT_DELETE: return ui->focus == FOCUS_CONVERSATIONS;
    default: return false;
    }
}

const char *prompt_label(const struct ui *ui)
{
    static const char *const labels[] = {
        [PROMPT_SEARCH] = "search all: ",
        [PROMPT_FIND] = "find: ",
        [PROMPT_HISTORY] = "earlier prompts: ",
        [PROMPT_MODEL] = "model file: ",
        [PROMPT_RENAME] = "title: ",
        [PROMPT_DELETE] = "delete this conversation? y/n ",
        [PROMPT_FILTER] = "/",
    };
    if (ui->prompt.kind == PROMPT_VALUE || ui->prompt.kind == PROMPT_NONE)
        return "> ";
    if (ui->prompt.kind == PROMPT_TEXT)
        return ui->prompt.row < ui->settings.n ? ui->settings.v[ui->prompt.row].label : "";
    return labels[ui->prompt.kind];
}

void prompt_open(struct ui *ui, enum prompt_kind kind, const char *text)
{
    if (ui->plain && kind != PROMPT_DELETE) /* nothing else can be asked between two lines */
        kind = PROMPT_NONE;
    ui->prompt.kind = kind;
    ui->prompt.target_id = 0;
    ui->prompt.selected = 0;
    ui->prompt.moving = false;
    draft_set(&ui->prompt.draft, text);
    if (ui->plain)
        plain_say(ui, kind == PROMPT_DELETE ? prompt_label(ui) : "this command needs an argument: see /help");
    else if (kind == PROMPT_FIND || kind == PROMPT_HISTORY || kind == PROMPT_MODEL)
        prompt_changed(ui);
}

void prompt_set_choices(struct ui *ui, const char *const *choices, size_t n)
{
    struct prompt *p = &ui->prompt;
    for (size_t i = 0; i < p->n_choices; i++)
        free(p->choices[i]);
    free(p->choices);
    p->choices = n ? mem_new(1, n * sizeof *p->choices) : NULL;
    for (size_t i = 0; i < n; i++)
        p->choices[i] = mem_string_or_empty(choices[i]);
    p->n_choices = n;
    p->choice = SIZE_MAX;
}

void prompt_close(struct ui *ui)
{
    if (ui->prompt.kind == PROMPT_FILTER)
        buffer_clear(&ui->conversations.filter);
    ui->prompt.kind = PROMPT_NONE;
    prompt_set_choices(ui, NULL, 0);
    draft_set(&ui->prompt.draft, "");
}

/* ---- finding in this conversation ---- */

static void find(struct ui *ui, int direction)
{
    const char *needle = draft_text(&ui->prompt.draft);
    if (!*needle) {
        transcript_find_clear(&ui->transcript);
        return;
    }
    transcript_find(&ui->transcript, needle, direction, NULL);
}

static bool find_key(struct ui *ui, int key)
{
    bool moving = ui->prompt.moving;
    int direction = key == KEYS_ENTER || key == KEYS_UP || (moving && key == 'n') ? -1
                    : key == KEYS_DOWN || (moving && key == 'N')                  ? 1
                                                                                  : 0;
    if (direction) {
        find(ui, direction);
        ui->prompt.moving = key == KEYS_ENTER || moving;
        return true;
    }
    ui->prompt.moving = false;
    return false;
}

/* ---- earlier prompts ---- */

size_t prompt_history(const struct ui *ui, const char **out, size_t cap)
{
    const char *needle = draft_text(&ui->prompt.draft);
    size_t n = 0, start, end;
    for (size_t i = ui->history.n; i-- && n < cap;) {
        const char *text = ui->history.v[i];
        if (!*needle || text_find(text, strlen(text), needle, strlen(needle), 0, &start, &end))
            out[n++] = text;
    }
    return n;
}

static bool history_key(struct ui *ui, int key)
{
    const char *found[PROMPT_HISTORY_MAX];
    size_t n = prompt_history(ui, found, PROMPT_HISTORY_MAX), *at = &ui->prompt.selected;
    switch (key) {
    case KEY_CTRL('R'):
    case KEYS_UP: *at += *at + 1 < n; return true;
    case KEYS_DOWN: *at -= *at > 0; return true;
    case KEYS_ENTER:
    case KEYS_TAB:
        for (size_t i = 0; *at < n && i < ui->history.n; i++)
            if (ui->history.v[i] == found[*at])
                draft_recall(&ui->draft, &ui->history, i);
        prompt_close(ui);
        return true;
    default: return false;
    }
}

/* ---- the model ---- */

/* Tab: what all choices begin with, where that is more than is typed. */
static bool complete_model(struct ui *ui)
{
    struct prompt *p = &ui->prompt;
    if (!p->n_choices || p->choice != SIZE_MAX)
        return false;
    size_t n = strlen(p->choices[0]);
    for (size_t i = 1; i < p->n_choices; i++)
        while (n && strncmp(p->choices[0], p->choices[i], n))
            n--;
    while (n && ((unsigned char)p->choices[0][n] & 0xc0) == 0x80)
        n--;
    if (n <= p->draft.text.len)
        return false;
    struct buffer common = BUFFER_INIT;
    buffer_add(&common, p->choices[0], n);
    draft_set(&p->draft, common.s);
    buffer_free(&common);
    prompt_changed(ui);
    return true;
}

static bool model_key(struct ui *ui, int key)
{
    struct prompt *p = &ui->prompt;
    if (key == KEYS_TAB && complete_model(ui))
        return true;
    int by = key == KEYS_TAB || key == KEYS_DOWN ? 1 : key == KEYS_BACKTAB || key == KEYS_UP ? -1 : 0;
    if (!by)
        return false;
    if (p->n_choices) {
        size_t none = by > 0 ? p->n_choices - 1 : 0;
        size_t from = p->choice < p->n_choices ? p->choice : none;
        p->choice = (from + p->n_choices + (size_t)(by + (int)p->n_choices)) % p->n_choices;
        draft_set(&p->draft, p->choices[p->choice]);
    }
    return true;
}

/* ---- answers ---- */

static void delete_key(struct ui *ui, int key)
{
    int64_t id = ui->prompt.target_id;
    prompt_close(ui);
    if (key != 'y' && key != 'Y')
        return;
    ui_emit(ui, UI_DELETE, id, 0, "");
    panel_deleted(ui, id);
}

static void take_value(struct ui *ui)
{
    char *end;
    const char *text = draft_text(&ui->prompt.draft);
    double value = strtod(text, &end);
    if (ui->prompt.row >= ui->settings.n)
        return;
    bool number = end != text && !end[strspn(end, " ")] && value == value;
    if (number)
        command_set(ui, ui->prompt.row, value);
    if (number ? ui->settings.v[ui->prompt.row].value != value : *text != 0)
        command_say_range(ui, ui->prompt.row);
}

static void take_text(struct ui *ui)
{
    if (ui->prompt.row < ui->settings.n)
        command_set_text(ui, ui->prompt.row, draft_text(&ui->prompt.draft));
}

static void take_answer(struct ui *ui)
{
    struct prompt *p = &ui->prompt;
    const char *text = draft_text(&p->draft);
    static const struct {
        enum prompt_kind kind;
        enum ui_event_type type;
    } plain_events[] = {{PROMPT_SEARCH, UI_SEARCH}, {PROMPT_MODEL, UI_MODEL}, {PROMPT_RENAME, UI_RENAME}};
    for (size_t i = 0; i < sizeof plain_events / sizeof *plain_events; i++)
        if (plain_events[i].kind == p->kind && *text)
            ui_emit(ui, plain_events[i].type, p->target_id, 0, text);
    if (p->kind == PROMPT_RENAME && *text)
        panel_renamed(ui, p->target_id, text);
    if (p->kind == PROMPT_VALUE)
        take_value(ui);
    else if (p->kind == PROMPT_TEXT)
        take_text(ui);
    if (p->kind == PROMPT_FILTER)
        p->kind = PROMPT_NONE; /* what is filtered stays so */
    prompt_close(ui);
}

void prompt_changed(struct ui *ui)
{
    switch (ui->prompt.kind) {
    case PROMPT_FIND: find(ui, 0); break;
    case PROMPT_FILTER:
        buffer_set(&ui->conversations.filter, draft_text(&ui->prompt.draft), ui->prompt.draft.text.len);
        ui->conversations.selected = ui->conversations.top = 0;
        break;
    case PROMPT_HISTORY: ui->prompt.selected = 0; break;
    case PROMPT_MODEL: ui_emit(ui, UI_MODELS, 0, 0, draft_text(&ui->prompt.draft)); break;
    default: break;
    }
}

void prompt_key(struct ui *ui, int key)
{
    struct prompt *p = &ui->prompt;
    enum action action = action_of_key(key);
    if (p->kind == PROMPT_DELETE) {
        delete_key(ui, key);
        return;
    }
    if ((p->kind == PROMPT_FIND && find_key(ui, key)) || (p->kind == PROMPT_HISTORY && history_key(ui, key)))
        return;
    if (p->kind == PROMPT_MODEL && model_key(ui, key))
        return;
    if (p->kind == PROMPT_FILTER && (action == ACTION_UP || action == ACTION_DOWN)) {
        panel_key(ui, action == ACTION_UP ? KEYS_UP : KEYS_DOWN);
        return;
    }
    if (p->kind == PROMPT_VALUE && key_is_printable(key) && (key > '~' || !strchr("0123456789.-+eE", key)) &&
        action == ACTION_NONE && p->row < ui->settings.n) {
        command_say_range(ui, p->row);
        return;
    }
    if (action == ACTION_SEND) {
        bool opens = p->kind == PROMPT_FILTER;
        take_answer(ui);
        if (opens)
            panel_key(ui, KEYS_ENTER);
    } else if (action == ACTION_NEWLINE && p->kind == PROMPT_TEXT) {
        draft_insert(&p->draft, "\n", 1);
    } else if ((action == ACTION_UP || action == ACTION_DOWN) && p->kind == PROMPT_TEXT) {
        draft_vertical(&p->draft, action == ACTION_UP ? -1 : 1, draw_draft_width(ui));
    } else if (action == ACTION_PAGE_UP || action == ACTION_PAGE_DOWN) {
        command_do(ui, action, "");
    } else if (p->kind == PROMPT_VALUE && (key == KEYS_UP || key == KEYS_DOWN)) {
        take_answer(ui);
        panel_key(ui, key);
    } else if (input_edit(&p->draft, key)) {
        prompt_changed(ui);
    }
}
