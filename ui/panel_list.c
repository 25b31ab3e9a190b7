/* panel_list.c - the panel with the saved conversations or with search results; see state.h and panels.h. */
#include "panels.h"

#include "../src/base/buffer.h"
#include "../src/base/clock.h"
#include "../src/base/mem.h"
#include "hit.h"
#include "status.h"
#include "text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- content ---- */

void panel_list_clear(struct conversation_list *c)
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

void panel_list_free(struct conversation_list *list)
{
    panel_list_clear(list);
    free(list->v);
    free(list->find);
    free(list->wanted);
    buffer_free(&list->filter);
}

size_t panel_visible(const struct ui *ui, size_t *out, size_t cap)
{
    const struct conversation_list *c = &ui->conversations;
    size_t n = 0, start, end;
    for (size_t i = 0; i < c->n && n < cap; i++)
        if (!c->filter.len ||
            text_find(c->v[i].title, strlen(c->v[i].title), c->filter.s, c->filter.len, 0, &start, &end))
            out[n++] = i;
    return n;
}

const struct list_entry *panel_selected(const struct ui *ui)
{
    const struct conversation_list *c = &ui->conversations;
    size_t *visible = mem_new(1, (c->n + 1) * sizeof *visible), n = panel_visible(ui, visible, c->n);
    const struct list_entry *selected = c->selected < n ? &c->v[visible[c->selected]] : NULL;
    free(visible);
    return selected;
}

void panel_set_list(struct ui *ui, const char *query, const struct ui_conversation *list, size_t n)
{
    struct conversation_list *c = &ui->conversations;
    const struct list_entry *was = panel_selected(ui);
    if (!query && c->found && c->open)
        return; /* search results stay until the panel is closed */
    int64_t selected = was && c->found == (query != NULL) ? was->id : ui->conversation;
    panel_list_clear(c);
    c->v = mem_grow(c->v, &c->cap, n, sizeof *c->v);
    for (size_t i = 0; i < n; i++)
        c->v[i] = (struct list_entry){.id = list[i].id,
                                      .message = list[i].message,
                                      .updated_ms = list[i].updated_ms,
                                      .title = panel_clean(list[i].title ? list[i].title : ""),
                                      .detail = panel_clean(list[i].detail),
                                      .who = panel_clean(list[i].who)};
    c->n = n;
    c->known = true;
    c->found = query != NULL;
    c->query = panel_clean(query);
    if (c->found)
        buffer_clear(&c->filter);
    /* Keep the same conversation selected at its new position. */
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
    struct conversation_list *c = &ui->conversations;
    for (size_t i = 0; i < c->n; i++)
        if (c->v[i].id == (id ? id : ui->conversation)) {
            free(c->v[i].title);
            c->v[i].title = panel_clean(title);
        }
}

void panel_deleted(struct ui *ui, int64_t id)
{
    struct conversation_list *c = &ui->conversations;
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

/* ---- keys ---- */

static size_t shown_conversations(const struct ui *ui)
{
    size_t *visible = mem_new(1, (ui->conversations.n + 1) * sizeof *visible);
    size_t n = panel_visible(ui, visible, ui->conversations.n);
    free(visible);
    return n;
}

static void ask_for(struct ui *ui, enum prompt_kind kind, const struct list_entry *c)
{
    if (!c)
        return;
    prompt_open(ui, kind, kind == PROMPT_RENAME ? c->title : "");
    ui->prompt.target_id = c->id;
}

static void open_selected(struct ui *ui, const struct list_entry *c)
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

bool panel_list_key(struct ui *ui, int key)
{
    const struct list_entry *c = panel_selected(ui);
    if (panel_move_key(key, &ui->conversations.selected, shown_conversations(ui)))
        return true;
    switch (key) {
    case KEYS_ENTER: open_selected(ui, c); return true;
    case 'r': ask_for(ui, PROMPT_RENAME, c); return true;
    case 'd':
    case KEYS_DELETE: ask_for(ui, PROMPT_DELETE, c); return true;
    case 'n': command_do(ui, ACTION_NEW, ""); return true;
    case 'q': panel_close(ui, FOCUS_CONVERSATIONS); return true;
    case '/': prompt_open(ui, PROMPT_FILTER, ui->conversations.filter.s); return true;
    default: /* any other character starts a filter */
        if (!key_is_printable(key))
            return false;
        prompt_open(ui, PROMPT_FILTER, ui->conversations.filter.s);
        input_edit(&ui->prompt.draft, key);
        prompt_changed(ui);
        return true;
    }
}

/* ---- drawing ---- */

void panel_age(const struct list_entry *c, char *out, size_t cap)
{
    char age[32];
    status_age(c->updated_ms, clock_wall_ms(), age, sizeof age);
    snprintf(out, cap, "%s%s%s", c->who ? c->who : "", c->who ? ", " : "", age);
}

/* Draws an entry: its title and, for a search result with room for it, the text around the match below. */
static void draw_listed(struct ui *ui, size_t index, bool selected, struct rect area, struct caret *caret)
{
    const struct conversation_list *list = &ui->conversations;
    const struct list_entry *c = &list->v[index];
    bool focused = ui->focus == FOCUS_CONVERSATIONS, acts = selected && focused;
    char age[64];
    panel_age(c, age, sizeof age);
    const char *title = *c->title ? c->title : "untitled";
    unsigned style = acts ? STYLE_REVERSE : selected || c->id == ui->conversation ? STYLE_BOLD : 0;
    if (acts && ui->prompt.kind == PROMPT_RENAME)
        panel_draw_prompt(ui, area, "", caret);
    else if (acts && ui->prompt.kind == PROMPT_DELETE)
        panel_draw_row(area, title, "delete? y/n", STYLE_WARNING | STYLE_REVERSE);
    else
        panel_draw_row(area, title, age, style);
    if (acts && ui->prompt.kind != PROMPT_RENAME && ui->prompt.kind != PROMPT_FILTER) {
        caret->y = area.y; /* the cursor is hidden, but screen readers follow it */
        caret->x = area.x;
    }
    if (c->detail && area.height > 1) {
        struct lines l = {0};
        hit_layout(c->detail, list->query ? list->query : "", area.width - 2, STYLE_DIM, &l);
        screen_line(area.y + 1, area.x + 2, area.width - 2, &l, &l.v[0], 0);
        lines_free(&l);
    }
}

/* Draws two rows with the keys that apply now. */
static void draw_hints(const struct ui *ui, struct rect area)
{
    const char *first = "Enter open  / filter  n new", *second = "r rename  d delete  Esc close";
    if (ui->focus != FOCUS_CONVERSATIONS)
        first = "F2 goes to this list", second = "";
    else if (ui->prompt.kind == PROMPT_FILTER)
        first = "Enter open  ↑ ↓ choose", second = "Esc shows all again";
    else if (ui->prompt.kind == PROMPT_RENAME)
        first = "Enter keeps this title", second = "Esc leaves it as it was";
    else if (ui->prompt.kind == PROMPT_DELETE)
        first = "y deletes it", second = "any other key keeps it";
    panel_draw_hint(rect_below(area, area.height - 2), first);
    panel_draw_hint(rect_below(area, area.height - 1), second);
}

/* Draws heading and filter; returns the area below them. */
static struct rect draw_heading(struct ui *ui, struct rect area, size_t shown, struct caret *caret)
{
    const struct conversation_list *c = &ui->conversations;
    bool typing = ui->prompt.kind == PROMPT_FILTER, filter = typing || c->filter.len;
    char heading[160], count[24];
    snprintf(heading, sizeof heading, c->found ? "Found: %s" : "Conversations", c->found ? c->query : "");
    snprintf(count, sizeof count, "%zu", shown);
    if (area.height > 1 + filter) { /* else leave the heading out */
        panel_draw_row(area, heading, c->known ? count : "", STYLE_BOLD);
        area = rect_below(area, 1);
    }
    if (typing)
        panel_draw_prompt(ui, area, "/", caret);
    else if (filter)
        panel_draw_row(area, c->filter.s, "filter", STYLE_UNDERLINE);
    return rect_below(area, filter);
}

void panel_list_draw(struct ui *ui, struct rect area, struct caret *caret)
{
    struct conversation_list *c = &ui->conversations;
    size_t *visible = mem_new(1, (c->n + 1) * sizeof *visible), n = panel_visible(ui, visible, c->n);
    struct rect rows = draw_heading(ui, area, n, caret);
    int step = c->found && rows.height > 1 ? 2 : 1; /* rows of an entry */
    bool hints = rows.height >= step + 2;
    int room = (hints ? rows.height - 2 : rows.height) / step;
    if (c->selected < c->top)
        c->top = c->selected;
    if (c->selected >= c->top + (size_t)room)
        c->top = c->selected - (size_t)room + 1;
    for (size_t i = c->top; i < n && i < c->top + (size_t)room; i++) {
        struct rect row = rect_below(rows, (int)(i - c->top) * step);
        row.height = step;
        draw_listed(ui, visible[i], i == c->selected, row, caret);
    }
    if (!n && room)
        panel_draw_hint(rows, !c->known ? "…" : c->found || c->filter.len ? "nothing found" : "nothing saved yet");
    if (hints)
        draw_hints(ui, area);
    free(visible);
}
