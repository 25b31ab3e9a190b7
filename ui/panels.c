/* panels.c - opens, closes and draws the panels, and draws their parts; see state.h and panels.h. */
#include "panels.h"

#include "../src/base/buffer.h"
#include "../src/base/mem.h"
#include "status.h"
#include "text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *panel_clean(const char *s)
{
    return s ? text_clean_string(s, strlen(s), true) : NULL;
}

void panel_free(struct ui *ui)
{
    panel_list_free(&ui->conversations);
    panel_settings_free(&ui->settings);
}

/* ---- opening and closing ---- */

static bool *is_open(struct ui *ui, enum focus which)
{
    return which == FOCUS_CONVERSATIONS ? &ui->conversations.open : &ui->settings.open;
}

void panel_open(struct ui *ui, enum focus which)
{
    bool *open = is_open(ui, which),
         *other = is_open(ui, which == FOCUS_SETTINGS ? FOCUS_CONVERSATIONS : FOCUS_SETTINGS);
    if (ui->plain) {
        if (which == FOCUS_SETTINGS)
            plain_settings(ui);
        else
            ui_emit(ui, UI_LIST, 0, 0, "");
        return;
    }
    if (which == FOCUS_CONVERSATIONS && !*open && !(ui->conversations.found && ui->conversations.query))
        ui_emit(ui, UI_LIST, 0, 0, "");
    if (screen_columns() < BESIDE_COLUMNS + 20)
        *other = false;
    *open = true;
    ui->help = false;
    ui->focus = which;
    ui->dirty = true;
}

void panel_close(struct ui *ui, enum focus which)
{
    *is_open(ui, which) = false;
    if (which == FOCUS_CONVERSATIONS) {
        buffer_clear(&ui->conversations.filter);
        if (ui->conversations.found) { /* the panel shows the list when it is opened again */
            panel_list_clear(&ui->conversations);
            ui->conversations.found = ui->conversations.known = false;
        }
    }
    if (ui->focus == which)
        ui->focus = FOCUS_DRAFT;
    ui->dirty = true;
}

void panel_toggle(struct ui *ui, enum focus which)
{
    if (*is_open(ui, which) && ui->focus == which)
        panel_close(ui, which);
    else
        panel_open(ui, which);
}

/* ---- keys ---- */

static void move_selection(size_t *selected, size_t n, long by)
{
    long at = (long)*selected + by;
    *selected = at < 0 || !n ? 0 : at >= (long)n ? n - 1 : (size_t)at;
}

bool panel_move_key(int key, size_t *selected, size_t n)
{
    static const struct {
        int key, by;
    } moves[] = {{KEYS_UP, -1},         {'k', -1},           {KEY_CTRL('P'), -1}, {KEYS_DOWN, 1},      {'j', 1},
                 {KEYS_HOME, -1000000}, {KEYS_END, 1000000}, {KEYS_PAGE_UP, -10}, {KEYS_PAGE_DOWN, 10}};
    for (size_t i = 0; i < sizeof moves / sizeof *moves; i++)
        if (moves[i].key == key) {
            move_selection(selected, n, moves[i].by);
            return true;
        }
    return false;
}

bool panel_key(struct ui *ui, int key)
{
    if (key == KEYS_TAB || key == KEYS_BACKTAB) {
        ui->focus = FOCUS_DRAFT;
        return true;
    }
    return ui->focus == FOCUS_CONVERSATIONS ? panel_list_key(ui, key) : panel_settings_key(ui, key);
}

/* ---- drawing ---- */

void panel_draw_row(struct rect row, const char *left, const char *right, unsigned style)
{
    char cut[512];
    int right_width = text_width(right, strlen(right));
    int room = row.width - (right_width ? right_width + 1 : 0);
    if (style & STYLE_REVERSE)
        screen_fill(row.y, row.x, row.width, " ", style);
    int used = text_ellipsis(left, room > 0 ? room : 0, cut, sizeof cut);
    screen_text(row.y, row.x, used, cut, strlen(cut), style);
    screen_text(row.y, row.x + row.width - right_width, right_width, right, strlen(right), style | STYLE_DIM);
}

/* Draws the prompt's text in a row; scrolls so that the caret is in view. */
void panel_draw_prompt(const struct ui *ui, struct rect row, const char *label, struct caret *caret)
{
    const struct draft *d = &ui->prompt.draft;
    int used = screen_text(row.y, row.x, row.width, label, strlen(label), STYLE_BOLD);
    char *before = text_clean_string(draft_text(d), d->caret, true);
    const char *from = before;
    while (text_width(from, strlen(from)) > row.width - used - 1 && *from) {
        int cell;
        from += text_cell(from, strlen(from), &cell);
    }
    used += screen_text(row.y, row.x + used, row.width - used, from, strlen(from), STYLE_UNDERLINE);
    char *after = text_clean_string(draft_text(d) + d->caret, d->text.len - d->caret, true);
    screen_text(row.y, row.x + used, row.width - used, after, strlen(after), STYLE_UNDERLINE);
    free(before);
    free(after);
    caret->y = row.y;
    caret->x = row.x + used;
}

void panel_draw_hint(struct rect row, const char *hint)
{
    char cut[256];
    int used = text_ellipsis(hint, row.width, cut, sizeof cut);
    screen_text(row.y, row.x, used, cut, strlen(cut), STYLE_DIM);
}

void panel_draw(struct ui *ui, enum focus which, struct rect area, struct caret *caret)
{
    bool left = which == FOCUS_CONVERSATIONS;
    int border = left ? area.x + area.width - 1 : area.x;
    for (int i = 0; i < area.height; i++) {
        screen_fill(area.y + i, area.x, area.width, " ", 0);
        if (area.width < screen_columns())
            screen_text(area.y + i, border, 1, "│", strlen("│"), STYLE_DIM);
    }
    struct rect inner = {area.y, area.x + (left ? 1 : 2), area.height, area.width - 3};
    if (left)
        panel_list_draw(ui, inner, caret);
    else
        panel_settings_draw(ui, inner, caret);
}
