/* panels.c - the list of conversations and the settings: what their keys do and how they look; see state.h. */
#include "state.h"

#include "../src/base/buffer.h"
#include "../src/base/clock.h"
#include "../src/base/mem.h"
#include "screen.h"
#include "status.h"
#include "text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- their content ---- */

static char *clean_copy(const char *s)
{
    return s ? text_clean_string(s, strlen(s), true) : NULL;
}

static void clear_list(struct conversations *c)
{
    for (size_t i = 0; i < c->n; i++) {
        free(c->v[i].title);
        free(c->v[i].detail);
        free(c->v[i].who);
    }
    c->n = 0;
    free(c->query);
    c->query = NULL;
}

void panel_set_list(struct ui *ui, const char *query, const struct ui_conversation *list, size_t n)
{
    struct conversations *c = &ui->conversations;
    const struct conversation *was = panel_selected(ui);
    if (!query && c->found && c->open)
        return; /* the results asked for stay until the panel is closed */
    int64_t selected = was && c->found == (query != NULL) ? was->id : ui->conversation;
    clear_list(c);
    c->v = mem_grow(c->v, &c->cap, n, sizeof *c->v);
    for (size_t i = 0; i < n; i++)
        c->v[i] = (struct conversation){.id = list[i].id,
                                        .message = list[i].message,
                                        .updated_ms = list[i].updated_ms,
                                        .title = clean_copy(list[i].title ? list[i].title : ""),
                                        .detail = clean_copy(list[i].detail),
                                        .who = clean_copy(list[i].who)};
    c->n = n;
    c->known = true;
    c->found = query != NULL;
    c->query = clean_copy(query);
    if (c->found)
        buffer_clear(&c->filter);
    /* The same conversation stays selected, wherever the new order has it. */
    size_t *visible = mem_new(1, (n + 1) * sizeof *visible), shown = panel_visible(ui, visible, n);
    size_t at = c->selected < shown ? c->selected : shown ? shown - 1 : 0;
    for (size_t i = 0; i < shown; i++)
        if (!c->found && c->v[visible[i]].id == selected)
            at = i;
    c->selected = c->found ? 0 : at;
    free(visible);
}

void panel_renamed(struct ui *ui, int64_t id, const char *title)
{
    struct conversations *c = &ui->conversations;
    for (size_t i = 0; i < c->n; i++)
        if (c->v[i].id == (id ? id : ui->conversation)) {
            free(c->v[i].title);
            c->v[i].title = clean_copy(title);
        }
}

void panel_deleted(struct ui *ui, int64_t id)
{
    struct conversations *c = &ui->conversations;
    for (size_t i = c->n; i--;)
        if (c->v[i].id == (id ? id : ui->conversation)) {
            free(c->v[i].title);
            free(c->v[i].detail);
            free(c->v[i].who);
            memmove(c->v + i, c->v + i + 1, (--c->n - i) * sizeof *c->v);
        }
    if (c->selected && c->selected >= c->n)
        c->selected = c->n ? c->n - 1 : 0;
}

static void clear_settings(struct settings *s)
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
    struct settings *s = &ui->settings;
    clear_settings(s);
    s->v = mem_new(1, (n + 1) * sizeof *s->v);
    s->n = n;
    for (size_t i = 0; i < n; i++) {
        const struct ui_setting *from = &settings[i];
        struct buffer label = BUFFER_INIT;
        buffer_printf(&label, "%s: ", from->name);
        s->v[i] = (struct setting){.name = clean_copy(from->name),
                                   .help = clean_copy(from->help ? from->help : ""),
                                   .text = from->text ? mem_string_or_empty(from->text) : NULL,
                                   .choices = from->choices,
                                   .blank = clean_copy(from->blank),
                                   .label = clean_copy(label.s),
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

void panel_free(struct ui *ui)
{
    clear_list(&ui->conversations);
    free(ui->conversations.v);
    free(ui->conversations.find);
    free(ui->conversations.wanted);
    buffer_free(&ui->conversations.filter);
    clear_settings(&ui->settings);
}

size_t panel_visible(const struct ui *ui, size_t *out, size_t cap)
{
    const struct conversations *c = &ui->conversations;
    size_t n = 0, start, end;
    for (size_t i = 0; i < c->n && n < cap; i++)
        if (!c->filter.len ||
            text_find(c->v[i].title, strlen(c->v[i].title), c->filter.s, c->filter.len, 0, &start, &end))
            out[n++] = i;
    return n;
}

const struct conversation *panel_selected(const struct ui *ui)
{
    const struct conversations *c = &ui->conversations;
    size_t *visible = mem_new(1, (c->n + 1) * sizeof *visible), n = panel_visible(ui, visible, c->n);
    const struct conversation *selected = c->selected < n ? &c->v[visible[c->selected]] : NULL;
    free(visible);
    return selected;
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
        if (ui->conversations.found) { /* next time it is the list again */
            clear_list(&ui->conversations);
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

static size_t shown_conversations(const struct ui *ui)
{
    size_t *visible = mem_new(1, (ui->conversations.n + 1) * sizeof *visible);
    size_t n = panel_visible(ui, visible, ui->conversations.n);
    free(visible);
    return n;
}

static void move_selection(size_t *selected, size_t n, long by)
{
    long at = (long)*selected + by;
    *selected = at < 0 || !n ? 0 : at >= (long)n ? n - 1 : (size_t)at;
}

static bool move_key(int key, size_t *selected, size_t n)
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

static void ask_for(struct ui *ui, enum prompt_kind kind, const struct conversation *c)
{
    if (!c)
        return;
    prompt_open(ui, kind, kind == PROMPT_RENAME ? c->title : "");
    ui->prompt.target_id = c->id;
}

static void open_selected(struct ui *ui, const struct conversation *c)
{
    if (!c)
        return;
    ui_emit_open(ui, c);
    if (ui->conversations.found) {
        free(ui->conversations.find);
        ui->conversations.find = mem_string_or_empty(ui->conversations.query);
        ui->conversations.find_in = c->id;
    }
    if (screen_columns() < BESIDE_COLUMNS)
        panel_close(ui, FOCUS_CONVERSATIONS);
    ui->focus = FOCUS_DRAFT;
}

static bool conversations_key(struct ui *ui, int key)
{
    const struct conversation *c = panel_selected(ui);
    if (move_key(key, &ui->conversations.selected, shown_conversations(ui)))
        return true;
    switch (key) {
    case KEYS_ENTER: open_selected(ui, c); return true;
    case 'r': ask_for(ui, PROMPT_RENAME, c); return true;
    case 'd':
    case KEYS_DELETE: ask_for(ui, PROMPT_DELETE, c); return true;
    case 'n': command_do(ui, ACTION_NEW, ""); return true;
    case 'q': panel_close(ui, FOCUS_CONVERSATIONS); return true;
    case '/': prompt_open(ui, PROMPT_FILTER, ui->conversations.filter.s); return true;
    default: /* any other character begins a filter */
        if (!key_is_printable(key))
            return false;
        prompt_open(ui, PROMPT_FILTER, ui->conversations.filter.s);
        input_edit(&ui->prompt.draft, key);
        prompt_changed(ui);
        return true;
    }
}

static void format_value(const struct setting *s, char *out, size_t cap)
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

/* The choice before the present one or after it, round and round. */
static void step_choice(struct ui *ui, size_t row, int direction)
{
    const struct setting *s = &ui->settings.v[row];
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
    const struct setting *s = &ui->settings.v[row];
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

static bool settings_key(struct ui *ui, int key)
{
    struct settings *s = &ui->settings;
    size_t row = s->selected;
    if (move_key(key, &s->selected, s->n))
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

bool panel_key(struct ui *ui, int key)
{
    if (key == KEYS_TAB || key == KEYS_BACKTAB) {
        ui->focus = FOCUS_DRAFT;
        return true;
    }
    return ui->focus == FOCUS_CONVERSATIONS ? conversations_key(ui, key) : settings_key(ui, key);
}

/* ---- drawing ---- */

/* Text at the left and at the right of a row; the left one gives way. */
static void draw_row(int y, int x, int width, const char *left, const char *right, unsigned style)
{
    char cut[512];
    int right_width = text_width(right, strlen(right));
    int room = width - (right_width ? right_width + 1 : 0);
    if (style & STYLE_REVERSE)
        screen_fill(y, x, width, " ", style);
    int used = text_ellipsis(left, room > 0 ? room : 0, cut, sizeof cut);
    screen_text(y, x, used, cut, strlen(cut), style);
    screen_text(y, x + width - right_width, right_width, right, strlen(right), style | STYLE_DIM);
}

/* The prompt's text in a row, the end of it where it is too long. */
static void draw_prompt(const struct ui *ui, int y, int x, int width, const char *label, int *caret_y, int *caret_x)
{
    const struct draft *d = &ui->prompt.draft;
    int used = screen_text(y, x, width, label, strlen(label), STYLE_BOLD);
    char *before = text_clean_string(draft_text(d), d->caret, true);
    const char *from = before;
    while (text_width(from, strlen(from)) > width - used - 1 && *from) {
        int cell;
        from += text_cell(from, strlen(from), &cell);
    }
    int column = used + screen_text(y, x + used, width - used, from, strlen(from), STYLE_UNDERLINE);
    char *after = text_clean_string(draft_text(d) + d->caret, d->text.len - d->caret, true);
    screen_text(y, x + column, width - column, after, strlen(after), STYLE_UNDERLINE);
    free(before);
    free(after);
    *caret_y = y;
    *caret_x = x + column;
}

static void draw_hint(int y, int x, int width, const char *hint)
{
    char cut[256];
    int used = text_ellipsis(hint, width, cut, sizeof cut);
    screen_text(y, x, used, cut, strlen(cut), STYLE_DIM);
}

void panel_age(const struct conversation *c, char *out, size_t cap)
{
    char age[32];
    status_age(c->updated_ms, clock_wall_ms(), age, sizeof age);
    snprintf(out, cap, "%s%s%s", c->who ? c->who : "", c->who ? ", " : "", age);
}

static void draw_conversation(struct ui *ui, size_t index, bool selected, bool with_detail, int y, int x, int width,
                              int *caret_y, int *caret_x)
{
    const struct conversation *c = &ui->conversations.v[index];
    bool focused = ui->focus == FOCUS_CONVERSATIONS;
    char age[64];
    panel_age(c, age, sizeof age);
    const char *title = *c->title ? c->title : "untitled";
    unsigned style = selected ? (focused ? STYLE_REVERSE : STYLE_BOLD) : c->id == ui->conversation ? STYLE_BOLD : 0;
    if (selected && focused && ui->prompt.kind == PROMPT_RENAME)
        draw_prompt(ui, y, x, width, "", caret_y, caret_x);
    else if (selected && focused && ui->prompt.kind == PROMPT_DELETE)
        draw_row(y, x, width, title, "delete? y/n", STYLE_WARNING | STYLE_REVERSE);
    else
        draw_row(y, x, width, title, age, style);
    if (selected && focused && ui->prompt.kind != PROMPT_RENAME && ui->prompt.kind != PROMPT_FILTER) {
        *caret_y = y; /* the cursor is hidden, but screen readers follow it */
        *caret_x = x;
    }
    if (c->detail && with_detail) {
        char cut[512];
        int used = text_ellipsis(c->detail, width - 2, cut, sizeof cut);
        screen_text(y + 1, x + 2, used, cut, strlen(cut), STYLE_DIM);
    }
}

/* What keys do now, in two rows. */
static void draw_list_hints(const struct ui *ui, int y, int x, int width)
{
    const char *first = "Enter open  / filter  n new", *second = "r rename  d delete  Esc close";
    if (ui->focus != FOCUS_CONVERSATIONS)
        first = "F2 goes to this list", second = "";
    else if (ui->prompt.kind == PROMPT_FILTER)
        first = "Enter open  ↑ ↓ choose", second = "Esc shows all again";
    else if (ui->prompt.kind == PROMPT_RENAME)
        first = "Enter keeps this title", second = "Esc leaves it as it was";
    else if (ui->prompt.kind == PROMPT_DELETE)
        first = "y deletes it for good", second = "any other key keeps it";
    draw_hint(y, x, width, first);
    draw_hint(y + 1, x, width, second);
}

static void draw_conversations(struct ui *ui, int y, int x, int height, int width, int *caret_y, int *caret_x)
{
    struct conversations *c = &ui->conversations;
    size_t *visible = mem_new(1, (c->n + 1) * sizeof *visible), n = panel_visible(ui, visible, c->n);
    char heading[160];
    if (c->found)
        snprintf(heading, sizeof heading, "Found: %s", c->query);
    else
        snprintf(heading, sizeof heading, "Conversations");
    char count[24];
    snprintf(count, sizeof count, "%zu", n);
    bool filter = ui->prompt.kind == PROMPT_FILTER || c->filter.len;
    int first = y;
    if (height > 1 + filter) /* or it is left out */
        draw_row(first++, x, width, heading, c->known ? count : "", STYLE_BOLD);
    if (ui->prompt.kind == PROMPT_FILTER)
        draw_prompt(ui, first++, x, width, "/", caret_y, caret_x);
    else if (c->filter.len)
        draw_row(first++, x, width, c->filter.s, "filter", STYLE_UNDERLINE);
    int left = y + height - first, step = c->found && left > 1 ? 2 : 1;
    bool hints = left >= step + 2;
    int room = (hints ? left - 2 : left) / step;
    if (c->selected < c->top)
        c->top = c->selected;
    if (c->selected >= c->top + (size_t)room)
        c->top = c->selected - (size_t)room + 1;
    for (size_t i = c->top; i < n && i < c->top + (size_t)room; i++)
        draw_conversation(ui, visible[i], i == c->selected, step > 1, first + (int)(i - c->top) * step, x, width,
                          caret_y, caret_x);
    if (!n && room)
        draw_hint(first, x, width,
                  !c->known                   ? "…"
                  : c->found || c->filter.len ? "nothing found"
                                              : "nothing saved yet");
    if (hints)
        draw_list_hints(ui, y + height - 2, x, width);
    free(visible);
}

static void draw_setting(struct ui *ui, size_t i, int y, int x, int width, int *caret_y, int *caret_x)
{
    const struct setting *s = &ui->settings.v[i];
    char name[80];
    snprintf(name, sizeof name, "%s%s", s->name, s->changed ? " *" : "");
    bool selected = i == ui->settings.selected && ui->focus == FOCUS_SETTINGS;
    char value[128];
    if (s->text) {
        char *clean = text_clean_string(s->text, strlen(s->text), true);
        text_ellipsis(*clean || !s->blank ? clean : s->blank, width - text_width(name, strlen(name)) - 2, value,
                      sizeof value);
        free(clean);
    } else if (s->blank && s->value == 0) {
        snprintf(value, sizeof value, "%s", s->blank);
    } else {
        format_value(s, value, sizeof value);
    }
    draw_row(y, x, width, name, value, selected ? STYLE_REVERSE : s->changed ? STYLE_BOLD : 0);
    if (selected) {
        *caret_y = y;
        *caret_x = x;
    }
    if (selected && ui->prompt.kind == PROMPT_VALUE && ui->prompt.row == i) {
        screen_fill(y, x, width, " ", 0);
        screen_text(y, x, width, name, strlen(name), STYLE_BOLD);
        /* Its last digit stays where it was; the caret is right of that. */
        int typed = text_width(draft_text(&ui->prompt.draft), ui->prompt.draft.text.len);
        int room = width - text_width(name, strlen(name)) - 1;
        typed = typed < room ? typed : room;
        draw_prompt(ui, y, x + width - typed, typed + 1, "", caret_y, caret_x);
    }
}

static void draw_settings(struct ui *ui, int y, int x, int height, int width, int *caret_y, int *caret_x)
{
    struct settings *s = &ui->settings;
    int room = height > 4 ? height - 4 : 1;
    size_t top = s->selected >= (size_t)room ? s->selected - (size_t)room + 1 : 0;
    draw_row(y, x, width, "Settings", "", STYLE_BOLD);
    for (size_t i = top; i < s->n && (int)(i - top) < room; i++)
        draw_setting(ui, i, y + 1 + (int)(i - top), x, width, caret_y, caret_x);
    if (s->selected >= s->n || height < 4)
        return;
    const struct setting *selected = &s->v[s->selected];
    char range[96] = "Enter to edit, d default (* = changed)";
    if (selected->choices)
        snprintf(range, sizeof range, "←/→ the others, d default");
    else if (!selected->text)
        snprintf(range, sizeof range, "%.*f … %.*f  ←/→, type, d default", selected->decimals, selected->min,
                 selected->decimals, selected->max);
    draw_hint(y + height - 2, x, width, selected->help);
    draw_hint(y + height - 1, x, width, range);
}

void panel_draw(struct ui *ui, enum focus which, int y, int x, int height, int width, int *caret_y, int *caret_x)
{
    for (int i = 0; i < height; i++)
        screen_fill(y + i, x, width, " ", 0);
    bool left = which == FOCUS_CONVERSATIONS;
    int border = left ? x + width - 1 : x;
    for (int i = 0; i < height && width < screen_columns(); i++)
        screen_text(y + i, border, 1, "│", strlen("│"), STYLE_DIM);
    if (left)
        draw_conversations(ui, y, x + 1, height, width - 3, caret_y, caret_x);
    else
        draw_settings(ui, y, x + 2, height, width - 3, caret_y, caret_x);
}
