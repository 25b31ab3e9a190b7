/* ui.c - implements the functions of ui.h: updates the state and emits events. */
#include "ui.h"

#include "../src/base/buffer.h"
#include "../src/base/clock.h"
#include "../src/base/mem.h"
#include "screen.h"
#include "state.h"
#include "status.h"
#include "text.h"
#include "tty.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define DRAW_SHARE 20     /* drawing takes at most 1/DRAW_SHARE of the time while an answer is written ... */
#define FRAME_MOST_MS 100 /* ... but frames are at most this far apart */

/* ---- events ---- */

static void push(struct ui *ui, struct event e)
{
    if (ui->next_event == ui->n_events)
        ui->next_event = ui->n_events = 0;
    ui->events = mem_grow(ui->events, &ui->cap_events, ui->n_events + 1, sizeof *ui->events);
    ui->events[ui->n_events++] = e;
}

void ui_emit(struct ui *ui, enum ui_event_type type, int64_t id, double value, const char *text)
{
    push(ui, (struct event){.type = type, .id = id, .value = value, .text = mem_string_or_empty(text)});
}

void ui_emit_open(struct ui *ui, const struct list_entry *c)
{
    ui_leave_draft(ui);
    push(ui, (struct event){.type = UI_OPEN, .id = c->id, .message = c->message, .text = mem_string_or_empty("")});
}

void ui_emit_pair(struct ui *ui, enum ui_event_type type, double value, const char *name, const char *text)
{
    struct buffer b = BUFFER_INIT;
    buffer_add(&b, name, strlen(name) + 1);
    buffer_puts(&b, text);
    push(ui, (struct event){.type = type, .value = value, .text = buffer_take(&b)});
}

bool ui_next_event(struct ui *ui, struct ui_event *event)
{
    free(ui->event_text);
    ui->event_text = NULL;
    if (ui->next_event == ui->n_events)
        return false;
    struct event *e = &ui->events[ui->next_event++];
    ui->event_text = e->text;
    *event =
        (struct ui_event){.type = e->type, .id = e->id, .message = e->message, .value = e->value, .text = e->text};
    return true;
}

/* ---- life ---- */

static bool wants_plain(void)
{
    const char *plain = getenv("CHINWAG_PLAIN"), *term = getenv("TERM");
    return (plain && *plain && strcmp(plain, "0")) || !term || !*term || !strcmp(term, "dumb");
}

static void close_at_exit(void)
{
    screen_close();
    tty_restore();
}

struct ui *ui_open(char *err, size_t cap)
{
    static bool registered;
    struct ui *ui = mem_new(1, sizeof *ui);
    transcript_init(&ui->transcript);
    draft_init(&ui->draft);
    draft_init(&ui->prompt.draft);
    buffer_init(&ui->conversations.filter);
    buffer_init(&ui->editor_text);
    buffer_init(&ui->pasted);
    buffer_init(&ui->draft_seen);
    buffer_init(&ui->draft_told);
    ui->title = mem_string_or_empty("");
    ui->plain = wants_plain();
    ui->dirty = true;
    if (!ui->plain && !screen_open(err, cap)) {
        ui_close(ui);
        return NULL;
    }
    if (ui->plain)
        plain_open(ui);
    tty_signals(ui->plain);
    if (!ui->plain)
        screen_resized(); /* the size may have changed before the SIGWINCH handler was installed */
    if (!registered)
        atexit(close_at_exit);
    registered = true;
    if (!ui->plain)
        screen_modes(ui->mouse);
    return ui;
}

void ui_close(struct ui *ui)
{
    if (!ui)
        return;
    editor_abandon(ui);
    if (ui->plain)
        plain_close(ui);
    else
        screen_close();
    tty_signals_end();
    panel_free(ui);
    transcript_free(&ui->transcript);
    draft_free(&ui->draft);
    prompt_set_choices(ui, NULL, 0);
    draft_free(&ui->prompt.draft);
    history_clear(&ui->history);
    buffer_free(&ui->pasted);
    free(ui->keys);
    waiting_free(ui);
    typing_free(ui);
    copy_free(ui);
    for (size_t i = ui->next_event; i < ui->n_events; i++)
        free(ui->events[i].text);
    free(ui->events);
    free(ui->event_text);
    free(ui->flash);
    free(ui->warning);
    free(ui->title);
    free(ui);
}

int ui_fd(const struct ui *ui)
{
    (void)ui;
    return tty_fd();
}

bool ui_answering(const struct ui *ui)
{
    return ui->status.awaited;
}

bool ui_animated(const struct ui *ui)
{
    return !ui->plain && (ui->status.awaited || ui->status.activity != UI_IDLE);
}

static int frame_wait(const struct ui *ui)
{
    return ui->urgent || ui->frame_wait_ms < FRAME_MS ? FRAME_MS : ui->frame_wait_ms;
}

static int sooner(int timeout, int64_t ms)
{
    if (ms < 0)
        ms = 0;
    return timeout < 0 || ms < timeout ? (int)ms : timeout;
}

int ui_timeout(const struct ui *ui)
{
    int64_t now = clock_ms();
    int timeout = -1;
    if (ui->next_event < ui->n_events || (ui->plain && plain_due(ui)))
        return 0;
    if (ui->editor)
        return 250;
    if (ui->dirty)
        timeout = sooner(timeout, ui->drawn_ms + frame_wait(ui) - now);
    if (ui_animated(ui))
        timeout = sooner(timeout, ui->frame_ms + STATUS_SPIN_MS - now);
    if (ui->flash && !ui->plain)
        timeout = sooner(timeout, ui->flash_until - now);
    if (typing_due(ui))
        timeout = sooner(timeout, typing_due(ui) - now);
    if (!ui->plain && keys_due())
        timeout = sooner(timeout, keys_due() - now);
    return timeout;
}

/* ---- reading ---- */

static void flush_paste(struct ui *ui)
{
    if (ui->pasted.len)
        input_paste(ui, ui->pasted.s, ui->pasted.len);
    buffer_clear(&ui->pasted);
}

static void gather_paste(struct ui *ui, int key)
{
    char bytes[4];
    key &= ~KEYS_ALT; /* an escape character within the text */
    if (key > 0 && key < 0x110000)
        buffer_add(&ui->pasted, bytes, text_encode((uint32_t)key, bytes));
}

/* Reads and decodes all pending keys into ui->keys; returns their number. */
static size_t read_keys(struct ui *ui)
{
    size_t n = 0;
    keys_fill();
    for (int key; (key = keys_next()) != KEYS_NONE; n++) {
        ui->keys = mem_grow(ui->keys, &ui->cap_keys, n + 1, sizeof *ui->keys);
        ui->keys[n] = key;
    }
    return n;
}

static void take_keys(struct ui *ui)
{
    int64_t now = clock_ms();
    size_t n = read_keys(ui), unmarked = 0;
    for (size_t i = 0; i < n && !ui->editor; i++) {
        if (i >= unmarked)
            unmarked = i + paste_unmarked(&ui->paste, ui->keys + i, n - i, i == 0, now);
        bool crlf = i && ui->keys[i - 1] == KEYS_ENTER && ui->keys[i] == KEY_CTRL('J');
        if (crlf && i >= unmarked && !ui->paste.active) /* some programs send CR LF for Enter */
            continue;
        switch (i < unmarked ? PASTE_TEXT : paste_take(&ui->paste, ui->keys[i], n == 1, now)) {
        case PASTE_TEXT: gather_paste(ui, ui->keys[i]); break;
        case PASTE_MARK: flush_paste(ui); break;
        default: flush_paste(ui); input_key(ui, ui->keys[i]);
        }
    }
    flush_paste(ui);
    ui->dirty |= n > 0;
    ui->urgent |= n > 0 && !ui->paste.active;
    if (!n && !ui->hung_up && tty_hung_up()) {
        ui->hung_up = true;
        tty_listen(false);
        ui_emit(ui, UI_QUIT, 0, 0, "");
    }
}

void ui_read(struct ui *ui)
{
    unsigned signals = tty_take();
    if (signals & TTY_QUIT)
        ui_emit(ui, UI_QUIT, 0, 0, "");
    if (ui->plain) {
        if (signals & TTY_INTERRUPT)
            command_do(ui, ACTION_INTERRUPT, "");
        plain_read(ui);
        return;
    }
    copy_check(ui);
    if (ui->editor) {
        if (signals & TTY_SUSPEND) /* the editor suspends the whole job, this program included */
            raise(SIGSTOP);
        editor_check(ui);
        return;
    }
    if (signals & TTY_CONTINUED) { /* another program may have left the terminal in any state */
        screen_leave();
        screen_return(ui->mouse);
        ui->dirty = true;
    }
    if (signals & TTY_RESIZED) {
        screen_resized();
        ui->dirty = true;
    }
    if (signals & TTY_INTERRUPT)
        input_key(ui, KEY_CTRL('C'));
    if (signals & TTY_SUSPEND)
        command_do(ui, ACTION_SUSPEND, "");
    take_keys(ui);
    typing_look(ui);
}

/* Shows the match after a search result was opened. */
static void find_what_was_opened(struct ui *ui)
{
    char *find = ui->conversations.find;
    if (!find || !ui->transcript.n || ui->conversation != ui->conversations.find_in)
        return;
    ui->conversations.find = NULL;
    draw_measure(ui);
    if (!transcript_find(&ui->transcript, find, 0, NULL))
        transcript_find_clear(&ui->transcript);
    free(find);
}

void ui_draw(struct ui *ui)
{
    int64_t now = clock_ms();
    if (ui->plain || ui->editor)
        return;
    if (ui_animated(ui) && now - ui->frame_ms >= STATUS_SPIN_MS) {
        ui->frame++;
        ui->frame_ms = now;
        ui->dirty = true;
    }
    if (ui->flash && now >= ui->flash_until)
        ui_flash_end(ui);
    if (!ui->dirty || now - ui->drawn_ms < frame_wait(ui))
        return;
    find_what_was_opened(ui);
    draw(ui);
    ui->dirty = ui->urgent = false;
    ui->drawn_ms = now;
    int64_t wait = (clock_ms() - now) * DRAW_SHARE;
    ui->frame_wait_ms = wait < FRAME_MOST_MS ? (int)wait : FRAME_MOST_MS;
}

/* ---- the transcript ---- */

static void set_title(struct ui *ui, const char *title)
{
    free(ui->title);
    ui->title = text_clean_string(title ? title : "", title ? strlen(title) : 0, true);
    ui->dirty = true;
}

void ui_show_conversation(struct ui *ui, int64_t id, const char *title)
{
    ui->conversation = id;
    set_title(ui, title);
    transcript_clear(&ui->transcript);
    if (ui->plain)
        plain_show(ui);
}

const char *ui_draft(const struct ui *ui)
{
    const char *message = ui->plain ? NULL : command_message(&ui->draft);
    return message ? message : "";
}

void ui_leave_draft(struct ui *ui)
{
    if (!*ui_draft(ui) && !ui->draft_told.len)
        return;
    typing_put(ui, true);
    if (*ui_draft(ui)) {
        draft_set(&ui->draft, "");
        draft_forget_edits(&ui->draft);
        typing_put(ui, false);
    }
    ui->dirty = true;
}

void ui_set_title(struct ui *ui, const char *title)
{
    set_title(ui, title);
}

/* Adds or removes the placeholder entry for an awaited answer that has no entry yet. */
static void place_pending(struct ui *ui)
{
    const struct entry *last = transcript_last(&ui->transcript, UI_MODEL_ANSWER);
    bool placed = last && last->id == PENDING_ID;
    bool growing = last && !placed && !last->finished;
    if (placed && !ui->status.awaited)
        transcript_remove(&ui->transcript, PENDING_ID);
    else if (!placed && ui->status.awaited && !growing)
        transcript_add(&ui->transcript, PENDING_ID, UI_MODEL_ANSWER, "", 0, clock_wall_ms());
}

void ui_add(struct ui *ui, int64_t id, enum ui_role role, const char *text, size_t len, int64_t time_ms)
{
    transcript_remove(&ui->transcript, PENDING_ID);
    transcript_add(&ui->transcript, id, role, text, len, time_ms);
    if (role == UI_MODEL_ANSWER)
        ui->stop_asked = 0; /* it concerned another answer */
    if (role != UI_MODEL_ANSWER)
        place_pending(ui);
    if (ui->plain)
        plain_add(ui, role, text, len, time_ms);
    ui->dirty = true;
}

void ui_append(struct ui *ui, int64_t id, const char *piece, size_t len)
{
    if (transcript_append(&ui->transcript, id, piece, len) && ui->plain)
        plain_append(ui, piece, len);
    ui->dirty = true;
}

void ui_append_thought(struct ui *ui, int64_t id, const struct ui_thought *thought, const char *piece, size_t len)
{
    if (transcript_append_thought(&ui->transcript, id, thought, piece, len) && ui->plain)
        plain_append_thought(ui, thought, piece, len);
    ui->dirty = true;
}

void ui_finish(struct ui *ui, int64_t id, const char *footnote)
{
    if (transcript_finish(&ui->transcript, id, footnote) && ui->plain)
        plain_finish(ui, footnote);
    ui->dirty = true;
}

void ui_set_alternative(struct ui *ui, int64_t id, int number, int count)
{
    transcript_set_alternative(&ui->transcript, id, number, count);
    ui->dirty = true;
}

void ui_set_time(struct ui *ui, int64_t id, int64_t time_ms)
{
    transcript_set_time(&ui->transcript, id, time_ms);
    ui->dirty = true;
}

void ui_remove(struct ui *ui, int64_t id)
{
    transcript_remove(&ui->transcript, id);
    place_pending(ui);
    ui->dirty = true;
}

void ui_flash(struct ui *ui, const char *text)
{
    free(ui->flash);
    ui->flash = text_clean_string(text, strlen(text), true);
    ui->flash_until = clock_ms() + FLASH_MS;
    ui->dirty = true;
    if (ui->plain)
        plain_say(ui, ui->flash);
}

void ui_set_warning(struct ui *ui, const char *text)
{
    free(ui->warning);
    ui->warning = text ? text_clean_string(text, strlen(text), true) : NULL;
    ui->dirty = true;
}

void ui_flash_end(struct ui *ui)
{
    free(ui->flash);
    ui->flash = NULL;
    ui->dirty = true;
}

void ui_flash_format(struct ui *ui, const char *format, ...)
{
    char line[512];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    ui_flash(ui, line);
}

void ui_set_history(struct ui *ui, const char *const *prompts, size_t n)
{
    history_clear(&ui->history);
    for (size_t i = 0; i < n; i++) {
        char *typed = action_escape(prompts[i]); /* a message that begins with a slash is escaped */
        history_add(&ui->history, typed);
        free(typed);
    }
    draft_forget_edits(&ui->draft);
}

/* ---- status, settings, models, conversations ---- */

void ui_set_status(struct ui *ui, const struct ui_status *status)
{
    struct ui_status before = ui->status;
    bool animated = ui_animated(ui);
    ui->status = *status;
    ui->status.model[sizeof ui->status.model - 1] = 0;
    char *clean = text_clean_string(ui->status.model, strlen(ui->status.model), true);
    text_ellipsis(clean, (int)sizeof ui->status.model, ui->status.model, sizeof ui->status.model);
    free(clean);
    place_pending(ui);
    if (!ui_answering(ui))
        ui->stop_asked = 0;
    if (!animated && ui_animated(ui))
        ui->frame_ms = clock_ms();
    if (ui->plain)
        plain_status(ui, &before);
    ui->dirty = true;
}

void ui_set_settings(struct ui *ui, const struct ui_setting *settings, size_t n)
{
    panel_set_settings(ui, settings, n);
    ui->dirty = true;
}

void ui_set_mouse(struct ui *ui, bool on)
{
    if (ui->plain || ui->mouse == on)
        return;
    ui->mouse = on;
    if (!ui->editor) /* else editor_check sets the modes when the editor exits */
        screen_modes(on);
}

void ui_set_models(struct ui *ui, const char *const *names, size_t n)
{
    prompt_set_choices(ui, names, n);
    ui->dirty = true;
}

void ui_set_conversations(struct ui *ui, const struct ui_conversation *list, size_t n)
{
    panel_set_list(ui, NULL, list, n);
    if (ui->conversations.wanted)
        command_listed(ui);
    else if (ui->plain)
        plain_conversations(ui);
    ui->dirty = true;
}

void ui_list_failed(struct ui *ui)
{
    free(ui->conversations.wanted);
    ui->conversations.wanted = NULL;
}

void ui_set_found(struct ui *ui, const char *query, const struct ui_conversation *list, size_t n)
{
    panel_set_list(ui, query, list, n);
    if (ui->plain)
        plain_conversations(ui);
    else
        panel_open(ui, FOCUS_CONVERSATIONS);
    ui->dirty = true;
}
