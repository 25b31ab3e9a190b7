/* input.c - keys to what they do, by what has the focus; see state.h. */
#include "state.h"

#include "../src/base/clock.h"
#include "screen.h"
#include "text.h"
#include "tty.h"

#include <stdlib.h>
#include <string.h>

#define WHEEL_LINES 3

/* Keys that edit any draft, and what they do to it. */
static const struct {
    enum action action;
    void (*act)(struct draft *d, enum draft_move to);
    enum draft_move to;
} edits[] = {
    {ACTION_LEFT, draft_move, DRAFT_LEFT},
    {ACTION_RIGHT, draft_move, DRAFT_RIGHT},
    {ACTION_WORD_LEFT, draft_move, DRAFT_WORD_LEFT},
    {ACTION_WORD_RIGHT, draft_move, DRAFT_WORD_RIGHT},
    {ACTION_LINE_START, draft_move, DRAFT_LINE_START},
    {ACTION_LINE_END, draft_move, DRAFT_LINE_END},
    {ACTION_BACKSPACE, draft_delete, DRAFT_LEFT},
    {ACTION_DELETE_CHAR, draft_delete, DRAFT_RIGHT},
    {ACTION_KILL_END, draft_kill, DRAFT_LINE_END},
    {ACTION_KILL_START, draft_kill, DRAFT_LINE_START},
    {ACTION_KILL_WORD, draft_kill, DRAFT_WORD_LEFT},
    {ACTION_KILL_WORD_RIGHT, draft_kill, DRAFT_WORD_RIGHT},
};

bool input_edit(struct draft *d, int key)
{
    enum action action = action_of_key(key);
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++)
        if (edits[i].action == action) {
            edits[i].act(d, edits[i].to);
            return true;
        }
    if (action == ACTION_YANK) {
        draft_yank(d);
        return true;
    }
    if (action != ACTION_NONE || key < 32 || key >= 0x110000)
        return false;
    char bytes[4];
    draft_insert(d, bytes, text_encode((uint32_t)key, bytes));
    return true;
}

void input_paste(struct ui *ui, const char *s, size_t n)
{
    if (draw_is_too_small())
        return;
    if (ui->prompt.kind == PROMPT_NONE) {
        ui->focus = FOCUS_DRAFT;
        ui->help = false;
        draft_paste(&ui->draft, s, n);
        return;
    }
    if (ui->prompt.kind == PROMPT_DELETE)
        return;
    if (ui->prompt.kind == PROMPT_TEXT) {
        draft_insert(&ui->prompt.draft, s, n);
    } else {
        char *line = text_clean_string(s, n, true);
        draft_insert(&ui->prompt.draft, line, strlen(line));
        free(line);
    }
    prompt_changed(ui);
}

static void draft_up_down(struct ui *ui, int direction)
{
    if (direction < 0 && !ui->draft.text.len && waiting_take_back(ui))
        return;
    if (!draft_vertical(&ui->draft, direction, draw_draft_width(ui)) &&
        draft_history(&ui->draft, &ui->history, direction) && direction > 0)
        draft_move(&ui->draft, DRAFT_END);
}

static void draft_key(struct ui *ui, int key)
{
    enum action action = action_of_key(key);
    switch (action) {
    case ACTION_SEND: command_enter(ui); return;
    case ACTION_NEWLINE: draft_insert(&ui->draft, "\n", 1); return;
    case ACTION_UP:
    case ACTION_DOWN: draft_up_down(ui, action == ACTION_UP ? -1 : 1); return;
    case ACTION_COMPLETE: command_complete(ui, 1); return;
    case ACTION_DELETE_CHAR:
        if (key == KEY_CTRL('D') && !ui->draft.text.len) {
            command_do(ui, ACTION_QUIT, "");
            return;
        }
        break;
    default: break;
    }
    if (key == KEYS_BACKTAB)
        command_complete(ui, -1);
    else if (!input_edit(&ui->draft, key) && action != ACTION_NONE)
        command_do(ui, action, "");
}

static bool is_screen_action(enum action a)
{
    return a != ACTION_NONE && a != ACTION_SEND && a != ACTION_NEWLINE && action_info(a)->group != GROUP_DRAFT;
}

static bool help_key(struct ui *ui, int key)
{
    int page = ui->transcript.height > 2 ? ui->transcript.height - 1 : 1;
    switch (key) {
    case KEYS_UP:
    case 'k': ui->help_top--; return true;
    case KEYS_DOWN:
    case 'j': ui->help_top++; return true;
    case KEYS_WHEEL_UP: ui->help_top -= WHEEL_LINES; return true;
    case KEYS_WHEEL_DOWN: ui->help_top += WHEEL_LINES; return true;
    case KEYS_PAGE_UP: ui->help_top -= page; return true;
    case KEYS_PAGE_DOWN:
    case ' ': ui->help_top += page; return true;
    case KEYS_HOME: ui->help_top = 0; return true;
    case 'q':
    case KEYS_ENTER: ui->help = false; return true;
    default: /* anything else closes it and is done */
        if (action_of_key(key) != ACTION_HELP && action_of_key(key) != ACTION_STOP)
            ui->help = false;
        return false;
    }
}

void input_key(struct ui *ui, int key)
{
    enum action action = action_of_key(key);
    if (key == KEYS_UNKNOWN || key == KEYS_NONE)
        return;
    if (action != ACTION_COMPLETE && key != KEYS_BACKTAB && action != ACTION_STOP)
        ui->completing[0] = 0;
    if (action != ACTION_STOP)
        ui->popup_closed = false;
    bool read = ui->flash && clock_ms() - (ui->flash_until - FLASH_MS) >= FLASH_LEAST_MS;
    if (read || (ui->quit_asked && action != ACTION_INTERRUPT))
        ui_flash_end(ui);
    if (action != ACTION_INTERRUPT)
        ui->quit_asked = 0;
    bool everywhere = action == ACTION_INTERRUPT || action == ACTION_REDRAW || action == ACTION_SUSPEND;
    if (draw_is_too_small() && !everywhere)
        return;
    if (ui->help && help_key(ui, key))
        return;
    if (key == KEYS_WHEEL_UP || key == KEYS_WHEEL_DOWN) {
        transcript_scroll(&ui->transcript, key == KEYS_WHEEL_UP ? -WHEEL_LINES : WHEEL_LINES);
        return;
    }
    if (action == ACTION_STOP || everywhere) {
        command_do(ui, action, "");
        return;
    }
    if (ui->prompt.kind != PROMPT_NONE) {
        prompt_key(ui, key);
        return;
    }
    if (ui->focus != FOCUS_DRAFT) {
        if (!panel_key(ui, key) && is_screen_action(action))
            command_do(ui, action, "");
        return;
    }
    draft_key(ui, key);
}
