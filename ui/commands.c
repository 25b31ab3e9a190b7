/* commands.c - what keys and slash commands do; see state.h. */
#include "state.h"

#include "../src/base/buffer.h"
#include "../src/base/clock.h"
#include "../src/base/mem.h"
#include "screen.h"
#include "text.h"
#include "tty.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QUIT_WITHIN_MS 3000

/* ---- sending and stopping ---- */

static void stop(struct ui *ui)
{
    if (ui_answering(ui) || ui->status.activity == UI_SUMMARIZING)
        ui_emit(ui, UI_STOP, 0, 0, "");
    ui->stop_asked = ui_answering(ui) ? clock_ms() : 0;
}

/* Whether the answer being written has been told to stop, and is about to. */
static bool is_stopping(const struct ui *ui)
{
    return ui_answering(ui) && ui->stop_asked && clock_ms() - ui->stop_asked < STOP_WITHIN_MS;
}

static void take_back_all(struct ui *ui)
{
    while (waiting_take_back(ui))
        ;
}

/* An answer will come: shows where. */
static void follow_answer(struct ui *ui)
{
    ui->stop_asked = 0;
    transcript_end(&ui->transcript);
}

static bool send_message(struct ui *ui, const char *text)
{
    struct buffer b = BUFFER_INIT;
    buffer_puts(&b, text);
    while (b.len && isspace((unsigned char)b.s[b.len - 1]))
        buffer_remove(&b, b.len - 1, 1);
    if (b.len) {
        bool waits = ui_answering(ui) || ui->n_waiting;
        ui_emit(ui, UI_SEND, 0, 0, b.s);
        if (!waits)
            follow_answer(ui);
        else if (!ui->plain)
            waiting_add(ui, b.s);
    }
    buffer_free(&b);
    return true;
}

static void flash_extra(struct ui *ui, const char *text, enum action action)
{
    int n = (int)strcspn(text, " \n");
    const char *args = action_info(action)->args;
    ui_flash_format(ui, "%.*s takes %s; begin with // to send it as a message", n, text,
                    *args ? args : "nothing after it");
}

static void flash_nearest(struct ui *ui, const char *text)
{
    enum action near[3];
    struct buffer b = BUFFER_INIT;
    size_t n = 1;
    while (text[n] >= 'a' && text[n] <= 'z')
        n++;
    size_t matches = action_complete(text + 1, n - 1, near, 3);
    size_t shown = matches ? (matches < 3 ? matches : 3) : action_nearest(text + 1, n - 1, near, 3);
    const char *words = matches ? "could be" : shown ? "is no command; near is" : "is no command: /help lists them";
    buffer_printf(&b, "%.*s %s", (int)(n < 40 ? n : 40), text, words);
    for (size_t i = 0; i < shown; i++)
        buffer_printf(&b, "%s /%s", i ? "," : "", action_info(near[i])->name);
    buffer_puts(&b, " (// begins a message with a slash)");
    ui_flash(ui, b.s);
    buffer_free(&b);
}

const char *command_message(const struct draft *d)
{
    enum action action;
    const char *argument, *message, *text = draft_text(d);
    if (d->literal)
        message = text;
    else if (action_parse(text, &action, &argument, &message) != TYPED_MESSAGE)
        return NULL;
    return message[strspn(message, " \t\n")] ? message : NULL;
}

bool command_line(struct ui *ui, const char *text)
{
    enum action action;
    const char *argument, *message;
    switch (action_parse(text, &action, &argument, &message)) {
    case TYPED_MESSAGE: return send_message(ui, message);
    case TYPED_COMMAND:
        if (action == ACTION_STOP) /* typed, it does not mean the panel */
            stop(ui);
        else
            command_do(ui, action, argument);
        return true;
    case TYPED_EXTRA: flash_extra(ui, text, action); return false;
    default: flash_nearest(ui, text); return false;
    }
}

void command_enter(struct ui *ui)
{
    char *text = mem_string_or_empty(draft_text(&ui->draft));
    bool blank = strspn(text, " \t\n") == strlen(text);
    if (!blank) {
        struct draft before = ui->draft;
        /* A command may want the draft's place (/editor): it is empty by the time it runs. */
        draft_init(&ui->draft);
        ui->draft.kill = before.kill;
        before.kill = (struct buffer)BUFFER_INIT;
        char *typed = before.literal ? action_escape(text) : mem_string_or_empty(text);
        if (before.literal ? send_message(ui, text) : command_line(ui, text)) {
            history_add(&ui->history, typed);
            draft_free(&before);
        } else {
            before.kill = ui->draft.kill;
            ui->draft.kill = (struct buffer)BUFFER_INIT;
            draft_free(&ui->draft);
            ui->draft = before;
        }
        free(typed);
    }
    free(text);
}

/* ---- settings ---- */

/* Names are given as the person pleases: top-p, top_p, Top P. */
static bool same_name(const char *a, const char *b, size_t bn)
{
    size_t i = 0;
    for (; i < bn && a[i]; i++) {
        char x = (char)tolower((unsigned char)a[i]), y = (char)tolower((unsigned char)b[i]);
        if (x != y && !(strchr("-_ ", x) && strchr("-_ ", y)))
            return false;
    }
    return i == bn;
}

enum { NOT_ONE = -1, SEVERAL = -2 };

static long setting_of_name(const struct ui *ui, const char *name, size_t n)
{
    long found = NOT_ONE;
    for (size_t i = 0; i < ui->settings.n && n; i++) {
        if (!same_name(ui->settings.v[i].name, name, n))
            continue;
        if (strlen(ui->settings.v[i].name) == n)
            return (long)i;
        found = found == NOT_ONE ? (long)i : SEVERAL; /* a beginning serves if it is only one's */
    }
    return found;
}

void command_set(struct ui *ui, size_t setting, double value)
{
    struct setting_row *s = &ui->settings.v[setting];
    if (s->text)
        return;
    s->value = value < s->min ? s->min : value > s->max ? s->max : value;
    ui_emit(ui, UI_SET, 0, s->value, s->name);
}

void command_set_text(struct ui *ui, size_t setting, const char *text)
{
    struct setting_row *s = &ui->settings.v[setting];
    free(s->text);
    s->text = mem_string_or_empty(text);
    ui_emit_pair(ui, UI_SET_TEXT, 0, s->name, s->text);
}

void command_reset(struct ui *ui, size_t setting)
{
    ui_emit(ui, UI_RESET, 0, 0, ui->settings.v[setting].name);
    ui_flash_format(ui, "%s has its default", ui->settings.v[setting].name);
}

void command_say_range(struct ui *ui, size_t setting)
{
    const struct setting_row *s = &ui->settings.v[setting];
    ui_flash_format(ui, "%s takes a number from %.*f to %.*f", s->name, s->decimals, s->min, s->decimals, s->max);
}

/* Blanks may follow it: they cannot be seen. */
static bool is_word(const char *text, const char *word)
{
    size_t n = strlen(word);
    return !strncmp(text, word, n) && !text[n + strspn(text + n, " \n")];
}

/* The one of the setting's choices that was typed; NULL and a word about it where it is none. */
static const char *choice_typed(struct ui *ui, const struct setting_row *s, const char *text)
{
    struct buffer all = BUFFER_INIT;
    const char *found = NULL;
    for (size_t i = 0; s->choices[i]; i++) {
        found = is_word(text, s->choices[i]) ? s->choices[i] : found;
        buffer_printf(&all, "%s%s", i ? ", " : "", s->choices[i]);
    }
    if (!found)
        ui_flash_format(ui, "%s takes one of: %s", s->name, all.s);
    buffer_free(&all);
    return found;
}

static void set_text(struct ui *ui, size_t setting, const char *text)
{
    const struct setting_row *s = &ui->settings.v[setting];
    if (s->choices && !(text = choice_typed(ui, s, text)))
        return;
    command_set_text(ui, setting, text);
    ui_flash_format(ui, "%s is %s", s->name, s->choices ? text : *text || !s->blank ? "set" : s->blank);
}

/* What it is. */
static void say_setting(struct ui *ui, const struct setting_row *s)
{
    if (s->text)
        ui_flash_format(ui, "%s is: %s", s->name, *s->text || !s->blank ? s->text : s->blank);
    else
        ui_flash_format(ui, "%s is %.*f, of %.*f to %.*f", s->name, s->decimals, s->value, s->decimals, s->min,
                        s->decimals, s->max);
}

static void do_set(struct ui *ui, const char *argument)
{
    size_t n = strcspn(argument, " =\n");
    const char *value = argument + n + strspn(argument + n, " =\n");
    long i = setting_of_name(ui, argument, n);
    if (!n) {
        panel_open(ui, FOCUS_SETTINGS);
        return;
    }
    if (i == SEVERAL) {
        ui_flash_format(ui, "%.*s could be several settings: /settings shows them", (int)n, argument);
        return;
    }
    if (i < 0) { /* the caller knows those that have no row, and says what becomes of them */
        struct buffer name = BUFFER_INIT;
        buffer_add(&name, argument, n);
        ui_emit_pair(ui, UI_SET_TEXT, 0, name.s, value);
        buffer_free(&name);
        return;
    }
    if (is_word(value, "default")) {
        command_reset(ui, (size_t)i);
        return;
    }
    struct setting_row *s = &ui->settings.v[i];
    if (!*value) {
        say_setting(ui, s);
        return;
    }
    if (s->text) {
        set_text(ui, (size_t)i, value);
        return;
    }
    char *end;
    double number = strtod(value, &end);
    if (end == value || end[strspn(end, " \n")] || number != number) {
        command_say_range(ui, (size_t)i);
        return;
    }
    command_set(ui, (size_t)i, number);
    ui_flash_format(ui, "%s is %.*f%s", s->name, s->decimals, s->value, s->value != number ? " (its limit)" : "");
}

/* ---- conversations ---- */

/* A number in plain mode (the list is numbered there), else a part of a title. */
static void do_open(struct ui *ui, const char *text)
{
    const struct conversation_list *c = &ui->conversations;
    size_t number = strtoul(text, NULL, 10);
    if (ui->plain && number && number <= c->n) {
        ui_emit_open(ui, &c->v[number - 1]);
        return;
    }
    if (!*text) {
        panel_open(ui, FOCUS_CONVERSATIONS);
        return;
    }
    if (c->found) /* search results would stay in the list's place */
        panel_close(ui, FOCUS_CONVERSATIONS);
    free(ui->conversations.wanted);
    ui->conversations.wanted = mem_string_or_empty(text);
    ui_emit(ui, UI_LIST, 0, 0, "");
}

/* Opens the one whose title has what was wanted in it; where several have, or none, the list is filtered by that. */
void command_listed(struct ui *ui)
{
    struct conversation_list *c = &ui->conversations;
    size_t found = 0, at = 0, start, end;
    char *text = c->wanted;
    c->wanted = NULL;
    for (size_t i = 0; i < c->n; i++)
        if (text_find(c->v[i].title, strlen(c->v[i].title), text, strlen(text), 0, &start, &end)) {
            at = i;
            found++;
        }
    if (found == 1) {
        ui_emit_open(ui, &c->v[at]);
    } else if (ui->plain) {
        ui_flash_format(ui, "%zu conversations have %.60s in their title", found, text);
        plain_conversations(ui);
    } else {
        panel_open(ui, FOCUS_CONVERSATIONS);
        buffer_set(&c->filter, text, strlen(text));
    }
    free(text);
}

/* ---- other commands ---- */

static void do_interrupt(struct ui *ui, const char *argument)
{
    (void)argument;
    int64_t now = clock_ms();
    if (ui->prompt.kind != PROMPT_NONE) {
        prompt_close(ui);
    } else if (ui_answering(ui) && !is_stopping(ui)) {
        take_back_all(ui);
        stop(ui);
    } else if (ui->draft.text.len && (ui->plain || !draw_is_too_small())) {
        ui->cleared = now;
        draft_clear(&ui->draft);
        ui_flash(ui, "draft cleared; Alt-Y brings it back");
    } else if (ui->quit_asked && now - ui->quit_asked < QUIT_WITHIN_MS) {
        if (ui->cleared && ui->quit_asked - ui->cleared < QUIT_WITHIN_MS) /* leaving was meant, not clearing */
            ui_emit(ui, UI_DRAFT, 0, 1, ui->draft.kill.s);
        ui_emit(ui, UI_QUIT, 0, 0, "");
    } else {
        ui->quit_asked = now;
        ui_flash(ui, "Ctrl-C again to quit");
    }
}

static void do_regenerate(struct ui *ui, const char *argument)
{
    (void)argument;
    if (ui_answering(ui)) {
        ui_flash(ui, "an answer is being written: Esc stops it");
    } else if (!transcript_last(&ui->transcript, UI_PERSON)) {
        ui_flash(ui, "there is no message to answer again");
    } else {
        ui_emit(ui, UI_REGENERATE, 0, 0, "");
        follow_answer(ui);
    }
}

static void alternative(struct ui *ui, int step)
{
    if (ui_answering(ui))
        ui_flash(ui, "an answer is being written: Esc stops it");
    else
        ui_emit(ui, UI_ALTERNATIVE, 0, step, "");
}

static void do_alternative(struct ui *ui, const char *argument)
{
    alternative(ui, *argument == 'p' ? -1 : 1);
}

static void do_alternative_before(struct ui *ui, const char *argument)
{
    (void)argument;
    alternative(ui, -1);
}

static void do_suspend(struct ui *ui, const char *argument)
{
    (void)argument;
    screen_leave();
    tty_stop();
    tty_discard(TTY_SUSPEND | TTY_CONTINUED);
    screen_return(ui->mouse);
}

/* Sets *on from the argument: "on", "off", or nothing, which toggles. False, with a flash, for any other argument. */
static bool read_switch(struct ui *ui, const char *command, const char *argument, bool *on)
{
    bool off = is_word(argument, "off");
    if (*argument && !off && !is_word(argument, "on")) {
        ui_flash_format(ui, "/%s takes on or off, not \"%.40s\"", command, argument);
        return false;
    }
    *on = *argument ? !off : !*on;
    return true;
}

static void do_thoughts(struct ui *ui, const char *argument)
{
    bool unfold = ui->transcript.unfolded;
    if (!read_switch(ui, "thoughts", argument, &unfold))
        return;
    if (!ui->plain)
        draw_measure(ui);
    if (!transcript_unfold(&ui->transcript, unfold) || ui->plain)
        ui_flash(ui, unfold ? "what a model thinks is shown" : "what a model thinks is folded");
}

static void do_mouse(struct ui *ui, const char *argument)
{
    bool on = ui->mouse;
    if (!read_switch(ui, "mouse", argument, &on))
        return;
    ui_set_mouse(ui, on);
    ui_emit_pair(ui, UI_SET_TEXT, 0, "mouse", on ? "on" : "off");
    ui_flash(ui,
             on ? "the wheel scrolls; hold Shift to select text" : "the mouse selects text; PgUp and PgDn scroll");
}

bool command_close_innermost(struct ui *ui)
{
    if (command_popup(ui))
        ui->popup_closed = true;
    else if (ui->prompt.kind != PROMPT_NONE)
        prompt_close(ui);
    else if (ui->help)
        ui->help = false;
    else if (ui->focus != FOCUS_DRAFT)
        panel_close(ui, ui->focus);
    else if (ui->settings.open)
        panel_close(ui, FOCUS_SETTINGS);
    else if (ui->conversations.open)
        panel_close(ui, FOCUS_CONVERSATIONS);
    else if (ui->transcript.find.len)
        transcript_find_clear(&ui->transcript);
    else
        return false;
    return true;
}

/* Asks with a question where no argument was given. */
static void ask_or(struct ui *ui, enum prompt_kind kind, enum ui_event_type type, const char *argument)
{
    if (*argument) {
        ui_emit(ui, type, 0, 0, argument);
        if (type == UI_RENAME)
            panel_renamed(ui, 0, argument);
    } else {
        prompt_open(ui, kind, kind == PROMPT_RENAME ? ui->title : "");
    }
}

/* ---- what each action does ---- */

static void do_stop(struct ui *ui, const char *argument)
{
    (void)argument;
    if (command_close_innermost(ui))
        return;
    if (is_stopping(ui) && ui->n_waiting) /* once for the answer, once for what is to follow it */
        take_back_all(ui);
    else
        stop(ui);
}

static void do_unsend(struct ui *ui, const char *argument)
{
    (void)argument;
    if (!waiting_take_back(ui))
        ui_flash(ui, "no message waits to be sent");
}

static void do_new(struct ui *ui, const char *argument)
{
    (void)argument;
    panel_close(ui, FOCUS_CONVERSATIONS);
    ui_leave_draft(ui);
    ui_emit(ui, UI_NEW, 0, 0, "");
}

static void do_conversations(struct ui *ui, const char *argument)
{
    (void)argument;
    panel_toggle(ui, FOCUS_CONVERSATIONS);
}

static void do_rename(struct ui *ui, const char *argument)
{
    ask_or(ui, PROMPT_RENAME, UI_RENAME, argument);
}

static void do_delete(struct ui *ui, const char *argument)
{
    (void)argument;
    prompt_open(ui, PROMPT_DELETE, "");
}

static void do_settings(struct ui *ui, const char *argument)
{
    (void)argument;
    panel_toggle(ui, FOCUS_SETTINGS);
}

static void do_model(struct ui *ui, const char *argument)
{
    ask_or(ui, PROMPT_MODEL, UI_MODEL, argument);
}

static void do_search(struct ui *ui, const char *argument)
{
    ask_or(ui, PROMPT_SEARCH, UI_SEARCH, argument);
}

static void do_find(struct ui *ui, const char *argument)
{
    prompt_open(ui, PROMPT_FIND, argument);
}

static void do_history(struct ui *ui, const char *argument)
{
    prompt_open(ui, PROMPT_HISTORY, argument);
}

static void do_editor(struct ui *ui, const char *argument)
{
    (void)argument;
    editor_start(ui);
}

static void do_summary(struct ui *ui, const char *argument)
{
    (void)argument;
    transcript_end(&ui->transcript); /* where it is shown */
    ui_emit(ui, UI_SUMMARY, 0, 0, "");
}

static void do_quit(struct ui *ui, const char *argument)
{
    (void)argument;
    ui_emit(ui, UI_QUIT, 0, 0, "");
}

static void do_help(struct ui *ui, const char *argument)
{
    (void)argument;
    ui->help = !ui->help;
    ui->help_top = 0;
    if (ui->plain)
        plain_help(ui);
}

static int page(const struct ui *ui)
{
    return ui->transcript.height > 2 ? ui->transcript.height - 1 : 1;
}

static void do_page_up(struct ui *ui, const char *argument)
{
    (void)argument;
    transcript_scroll(&ui->transcript, -page(ui));
}

static void do_page_down(struct ui *ui, const char *argument)
{
    (void)argument;
    transcript_scroll(&ui->transcript, page(ui));
}

static void do_top(struct ui *ui, const char *argument)
{
    (void)argument;
    transcript_home(&ui->transcript);
}

static void do_bottom(struct ui *ui, const char *argument)
{
    (void)argument;
    transcript_end(&ui->transcript);
}

static void do_older(struct ui *ui, const char *argument)
{
    (void)argument;
    transcript_previous(&ui->transcript, -1);
}

static void do_newer(struct ui *ui, const char *argument)
{
    (void)argument;
    transcript_previous(&ui->transcript, 1);
}

static void do_redraw(struct ui *ui, const char *argument)
{
    (void)ui, (void)argument;
    screen_redraw();
}

/* Those that are missing belong to the draft: input.c. */
static void (*const handlers[ACTION_COUNT])(struct ui *ui, const char *argument) = {
    [ACTION_STOP] = do_stop,
    [ACTION_INTERRUPT] = do_interrupt,
    [ACTION_REGENERATE] = do_regenerate,
    [ACTION_RETRY] = do_regenerate,
    [ACTION_ALTERNATIVE] = do_alternative,
    [ACTION_ALTERNATIVE_BEFORE] = do_alternative_before,
    [ACTION_UNSEND] = do_unsend,
    [ACTION_NEW] = do_new,
    [ACTION_CONVERSATIONS] = do_conversations,
    [ACTION_OPEN] = do_open,
    [ACTION_RENAME] = do_rename,
    [ACTION_DELETE] = do_delete,
    [ACTION_SETTINGS] = do_settings,
    [ACTION_SET] = do_set,
    [ACTION_MODEL] = do_model,
    [ACTION_SEARCH] = do_search,
    [ACTION_FIND] = do_find,
    [ACTION_HISTORY] = do_history,
    [ACTION_SUMMARY] = do_summary,
    [ACTION_COPY] = copy_answer,
    [ACTION_EDITOR] = do_editor,
    [ACTION_QUIT] = do_quit,
    [ACTION_HELP] = do_help,
    [ACTION_PAGE_UP] = do_page_up,
    [ACTION_PAGE_DOWN] = do_page_down,
    [ACTION_TOP] = do_top,
    [ACTION_BOTTOM] = do_bottom,
    [ACTION_OLDER] = do_older,
    [ACTION_NEWER] = do_newer,
    [ACTION_REDRAW] = do_redraw,
    [ACTION_THOUGHTS] = do_thoughts,
    [ACTION_MOUSE] = do_mouse,
    [ACTION_SUSPEND] = do_suspend,
};

void command_do(struct ui *ui, enum action action, const char *argument)
{
    ui->dirty = true;
    if (ui->plain && action_info(action)->place == ON_SCREEN)
        ui_flash(ui, "the plain dialogue has no such command");
    else if (handlers[action])
        handlers[action](ui, argument);
}

/* ---- completion ---- */

static size_t complete_settings(const struct ui *ui, const char *prefix, struct completion *out, size_t cap)
{
    size_t n = 0;
    for (size_t i = 0; i < ui->settings.n && n < cap; i++)
        if (same_name(ui->settings.v[i].name, prefix, strlen(prefix)))
            out[n++] = (struct completion){ui->settings.v[i].name, ui->settings.v[i].help};
    return n;
}

size_t command_completions(const struct ui *ui, struct completion *out, size_t cap)
{
    const char *text = *ui->completing ? ui->completing : draft_text(&ui->draft);
    enum action found[ACTION_COUNT];
    if (text[0] != '/' || ui->draft.literal || strlen(text) >= sizeof ui->completing)
        return 0;
    if (!strncmp(text, "/set ", 5) && !strchr(text + 5, ' '))
        return complete_settings(ui, text + 5, out, cap);
    if (strpbrk(text, " \n") || text[1] == '/')
        return 0;
    size_t n = action_complete(text + 1, strlen(text + 1), found, ACTION_COUNT);
    n = n < cap ? n : cap;
    for (size_t i = 0; i < n; i++)
        out[i] = (struct completion){action_info(found[i])->name, action_info(found[i])->help};
    return n;
}

bool command_popup(const struct ui *ui)
{
    struct completion any;
    return ui->prompt.kind == PROMPT_NONE && ui->focus == FOCUS_DRAFT && !ui->help && !ui->popup_closed &&
           command_completions(ui, &any, 1) > 0;
}

/* What the completions have in common beyond what is typed. */
static size_t common_length(const struct completion *c, size_t n)
{
    size_t length = strlen(c[0].name);
    for (size_t i = 1; i < n; i++) {
        size_t k = 0;
        while (k < length && c[i].name[k] == c[0].name[k])
            k++;
        length = k;
    }
    return length;
}

void command_complete(struct ui *ui, int direction)
{
    struct completion c[ACTION_COUNT];
    char text[160];
    size_t n = command_completions(ui, c, ACTION_COUNT);
    if (!n)
        return;
    const char *typed = *ui->completing ? ui->completing : draft_text(&ui->draft);
    const char *start = strncmp(typed, "/set ", 5) ? "/" : "/set ";
    size_t typed_n = strlen(typed) - strlen(start), common = common_length(c, n);
    if (n == 1) {
        snprintf(text, sizeof text, "%s%s ", start, c[0].name);
    } else if (!*ui->completing && common > typed_n) {
        snprintf(text, sizeof text, "%s%.*s", start, (int)common, c[0].name);
    } else {
        if (*ui->completing)
            ui->completion = (ui->completion + n + (size_t)(direction + (int)n)) % n;
        else
            ui->completion = direction > 0 ? 0 : n - 1;
        if (!*ui->completing)
            memcpy(ui->completing, typed, strlen(typed) + 1);
        snprintf(text, sizeof text, "%s%s", start, c[ui->completion].name);
    }
    draft_set(&ui->draft, text);
}
