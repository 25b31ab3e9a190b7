/* panel_settings.c - the panel with the settings; see state.h and panels.h. */
#include "panels.h"

#include "../src/base/buffer.h"
#include "../src/base/mem.h"
#include "text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- content ---- */

void panel_settings_free(struct setting_list *s)
{
    for (size_t i = 0; i < s->n; i++) {
        free(s->v[i].name);
        free(s->v[i].help);
        free(s->v[i].text);
        free(s->v[i].blank);
        free(s->v[i].label);
    }
    free(s->v);
    s->v = NULL;
    s->n = 0;
}

void panel_set_settings(struct ui *ui, const struct ui_setting *settings, size_t n)
{
    struct setting_list *s = &ui->settings;
    panel_settings_free(s);
    s->v = mem_new(1, (n + 1) * sizeof *s->v);
    s->n = n;
    for (size_t i = 0; i < n; i++) {
        const struct ui_setting *from = &settings[i];
        struct buffer label = BUFFER_INIT;
        buffer_printf(&label, "%s: ", from->name);
        s->v[i] = (struct setting_row){.name = panel_clean(from->name),
                                       .help = panel_clean(from->help ? from->help : ""),
                                       .text = from->text ? mem_string_or_empty(from->text) : NULL,
                                       .choices = from->choices,
                                       .blank = panel_clean(from->blank),
                                       .label = panel_clean(label.s),
                                       .min = from->min,
                                       .max = from->max,
                                       .step = from->step,
                                       .value = from->value,
                                       .decimals = from->decimals,
                                       .changed = from->changed};
        buffer_free(&label);
    }
    if (s->selected >= n)
        s->selected = 0;
}

/* ---- keys ---- */

static void format_value(const struct setting_row *s, char *out, size_t cap)
{
    snprintf(out, cap, "%.*f", s->decimals, s->value);
}

/* -1 for keys that lower a value, 1 for keys that raise it, else 0. */
static int direction_of(int key)
{
    if (key == KEYS_LEFT || key == '-' || key == 'h')
        return -1;
    return key == KEYS_RIGHT || key == '+' || key == 'l';
}

/* Selects the previous or next choice; wraps around. */
static void step_choice(struct ui *ui, size_t row, int direction)
{
    const struct setting_row *s = &ui->settings.v[row];
    int n = 0, at = 0;
    for (; s->choices[n]; n++)
        if (!strcmp(s->choices[n], s->text))
            at = n;
    command_set_text(ui, row, s->choices[(at + direction + n) % n]);
}

static void edit_value(struct ui *ui, size_t row, enum prompt_kind kind, const char *text)
{
    prompt_open(ui, kind, text);
    ui->prompt.row = row;
}

static bool choice_key(struct ui *ui, size_t row, int key)
{
    int direction = key == KEYS_ENTER ? 1 : direction_of(key);
    if (!direction)
        return key_is_printable(key);
    step_choice(ui, row, direction);
    return true;
}

static bool text_key(struct ui *ui, size_t row, int key)
{
    if (key != KEYS_ENTER)
        return key_is_printable(key);
    edit_value(ui, row, PROMPT_TEXT, ui->settings.v[row].text);
    return true;
}

static bool number_key(struct ui *ui, size_t row, int key)
{
    const struct setting_row *s = &ui->settings.v[row];
    bool sign = key == '-' && s->min < 0, digit = (key >= '0' && key <= '9') || key == '.';
    if (key == KEYS_ENTER) {
        char value[64];
        format_value(s, value, sizeof value);
        edit_value(ui, row, PROMPT_VALUE, value);
    } else if (digit || sign) {
        edit_value(ui, row, PROMPT_VALUE, (char[]){(char)key, 0});
    } else if (direction_of(key)) {
        command_set(ui, row, s->value + direction_of(key) * s->step);
    } else if (key_is_printable(key)) {
        command_say_range(ui, row);
    } else {
        return false;
    }
    return true;
}

bool panel_settings_key(struct ui *ui, int key)
{
    struct setting_list *s = &ui->settings;
    size_t row = s->selected;
    if (panel_move_key(key, &s->selected, s->n))
        return true;
    if (key == 'q') {
        panel_close(ui, FOCUS_SETTINGS);
        return true;
    }
    if (row >= s->n)
        return key_is_printable(key);
    if (key == 'd' || key == KEYS_DELETE) {
        command_reset(ui, row);
        return true;
    }
    return s->v[row].choices ? choice_key(ui, row, key)
           : s->v[row].text  ? text_key(ui, row, key)
                             : number_key(ui, row, key);
}

/* ---- drawing ---- */

/* Formats the value in at most width cells; text values are truncated. */
static void setting_value(const struct setting_row *s, int width, char *out, size_t cap)
{
    if (s->text) {
        char *clean = text_clean_string(s->text, strlen(s->text), true);
        text_ellipsis(*clean || !s->blank ? clean : s->blank, width, out, cap);
        free(clean);
    } else if (s->blank && s->value == 0) {
        snprintf(out, cap, "%s", s->blank);
    } else {
        format_value(s, out, cap);
    }
}

/* Draws the value being typed, right-aligned like the stored value, with the caret after its last digit. */
static void draw_typed_value(const struct ui *ui, struct rect row, const char *name, struct caret *caret)
{
    int typed = text_width(draft_text(&ui->prompt.draft), ui->prompt.draft.text.len);
    int room = row.width - text_width(name, strlen(name)) - 1;
    typed = typed < room ? typed : room;
    screen_fill(row.y, row.x, row.width, " ", 0);
    screen_text(row.y, row.x, row.width, name, strlen(name), STYLE_BOLD);
    row.x += row.width - typed;
    row.width = typed + 1;
    panel_draw_prompt(ui, row, "", caret);
}

static void draw_setting(struct ui *ui, size_t i, struct rect row, struct caret *caret)
{
    const struct setting_row *s = &ui->settings.v[i];
    bool selected = i == ui->settings.selected && ui->focus == FOCUS_SETTINGS;
    char name[80], value[128];
    snprintf(name, sizeof name, "%s%s", s->name, s->changed ? " *" : "");
    setting_value(s, row.width - text_width(name, strlen(name)) - 2, value, sizeof value);
    panel_draw_row(row, name, value, selected ? STYLE_REVERSE : s->changed ? STYLE_BOLD : 0);
    if (!selected)
        return;
    caret->y = row.y;
    caret->x = row.x;
    if (ui->prompt.kind == PROMPT_VALUE && ui->prompt.row == i)
        draw_typed_value(ui, row, name, caret);
}

void panel_settings_draw(struct ui *ui, struct rect area, struct caret *caret)
{
    struct setting_list *s = &ui->settings;
    int room = area.height > 4 ? area.height - 4 : 1;
    size_t top = s->selected >= (size_t)room ? s->selected - (size_t)room + 1 : 0;
    panel_draw_row(area, "Settings", "", STYLE_BOLD);
    for (size_t i = top; i < s->n && (int)(i - top) < room; i++)
        draw_setting(ui, i, rect_below(area, 1 + (int)(i - top)), caret);
    if (s->selected >= s->n || area.height < 4)
        return;
    const struct setting_row *selected = &s->v[s->selected];
    char range[96] = "Enter to edit, d default (* = changed)";
    if (selected->choices)
        snprintf(range, sizeof range, "←/→ the others, d default");
    else if (!selected->text)
        snprintf(range, sizeof range, "%.*f … %.*f  ←/→, type, d default", selected->decimals, selected->min,
                 selected->decimals, selected->max);
    panel_draw_hint(rect_below(area, area.height - 2), selected->help);
    panel_draw_hint(rect_below(area, area.height - 1), range);
}
