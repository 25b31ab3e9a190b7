/* draw.c - draws title, transcript, panels, draft and status line; see state.h. */
#include "state.h"

#include "../src/base/clock.h"
#include "../src/base/mem.h"
#include "screen.h"
#include "status.h"
#include "text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POPUP_ROWS 8
#define TITLE_CELLS 24 /* cells of the title that take precedence over the model's name */
#define CHROME_ROWS 3  /* title, rule, status line */
#define BODY_ROWS 3    /* minimum rows of the transcript when messages are queued */

/* Screen layout of one frame. */
struct frame {
    int rows, columns;
    int draft_rows;
    int waiting_rows;            /* queued messages, above the rule */
    int body_rows;               /* between the title and those */
    int text_x, text_width;      /* the transcript's part of them */
    int left_width, right_width; /* of open panels; 0 = closed */
    struct caret caret;
};

bool draw_is_too_small(void)
{
    return screen_columns() < MIN_COLUMNS || screen_rows() < MIN_ROWS;
}

/* ---- measuring ---- */

/* Returns the draft edited at the bottom of the screen, and its label. */
static struct draft *bottom_draft(struct ui *ui, const char **label)
{
    bool prompt = ui->prompt.kind != PROMPT_NONE && !prompt_in_panel(ui);
    *label = prompt ? prompt_label(ui) : "> ";
    return prompt ? &ui->prompt.draft : &ui->draft;
}

int draw_draft_width(struct ui *ui)
{
    const char *label;
    bottom_draft(ui, &label);
    int width = screen_columns() - text_width(label, strlen(label)) - 1; /* a cell for the caret */
    return width > 1 ? width : 1;
}

static struct frame measure(struct ui *ui)
{
    struct frame f = {.rows = screen_rows(), .columns = screen_columns()};
    const char *label;
    const struct draft_layout *layout = draft_layout(bottom_draft(ui, &label), draw_draft_width(ui));
    int most = f.rows / 3 > 1 ? f.rows / 3 : 1;
    f.draft_rows = (int)layout->lines.n < most ? (int)layout->lines.n : most;
    f.body_rows = f.rows - CHROME_ROWS - f.draft_rows;
    f.waiting_rows = waiting_rows(ui, f.body_rows - BODY_ROWS);
    f.body_rows -= f.waiting_rows;
    f.body_rows = f.body_rows > 1 ? f.body_rows : 1;
    if (ui->conversations.open)
        f.left_width = f.columns >= BESIDE_COLUMNS ? CONVERSATIONS_WIDTH : f.columns;
    if (ui->settings.open)
        f.right_width = f.columns >= SETTINGS_BESIDE_COLUMNS ? SETTINGS_WIDTH : f.columns;
    int left = f.left_width < f.columns ? f.left_width : 0, right = f.right_width < f.columns ? f.right_width : 0;
    f.text_x = 1 + left;
    f.text_width = f.columns - 2 - left - right;
    return f;
}

void draw_measure(struct ui *ui)
{
    struct frame f = measure(ui);
    transcript_resize(&ui->transcript, f.text_width, f.body_rows);
}

/* ---- title and transcript ---- */

static void draw_title(const struct ui *ui, const struct frame *f)
{
    char cut[512];
    const char *model = ui->status.model;
    int model_width = text_width(model, strlen(model));
    int room = f->columns - 2;
    int title_width = text_width(ui->title, strlen(ui->title));
    bool both = *model && model_width + 2 + (title_width < TITLE_CELLS ? title_width : TITLE_CELLS) <= room;
    int used = text_ellipsis(*ui->title ? ui->title : "new conversation", both ? room - model_width - 2 : room, cut,
                             sizeof cut);
    screen_text(0, 1, used, cut, strlen(cut), *ui->title ? STYLE_BOLD : STYLE_DIM);
    if (both)
        screen_text(0, f->columns - 1 - model_width, model_width, model, strlen(model), STYLE_DIM);
}

/* Returns the first entry that the model sees verbatim; earlier ones are summarized. */
static size_t summarized_until(const struct ui *ui)
{
    size_t i = 0;
    for (int left = ui->status.summarized; left > 0 && i < ui->transcript.n; i++)
        left -= ui->transcript.v[i].role != UI_NOTICE;
    return i;
}

static void draw_header(const struct ui *ui, const struct row *row, int y, const struct frame *f)
{
    bool person = row->entry->role == UI_PERSON;
    const char *name = person ? "you" : "chinwag";
    char when[40] = " ";
    if (row->entry->time_ms)
        status_time(row->entry->time_ms, clock_wall_ms(), when + 1, sizeof when - 1);
    int x = f->text_x, right = f->text_x + f->text_width;
    x += screen_text(y, x, right - x, name, strlen(name), person ? STYLE_PERSON : STYLE_MODEL);
    x += screen_text(y, x, right - x, when, strlen(when), STYLE_DIM);
    if (row->entry->number) {
        char which[40];
        snprintf(which, sizeof which, " (%d/%d)", row->entry->number, row->entry->count);
        x += screen_text(y, x, right - x, which, strlen(which), STYLE_DIM);
    }
    if (row->index < summarized_until(ui))
        screen_text(y, x, right - x, " · in summary", strlen(" · in summary"), STYLE_DIM);
}

static void draw_matches(const struct ui *ui, const struct row *row, int y, int x, int width)
{
    const struct transcript *t = &ui->transcript;
    const struct line *line = row->line;
    const char *text = row->entry->lines.text + line->text;
    size_t start, end, from = 0;
    while (transcript_match(t, row->entry, row->number, from, &start, &end)) {
        bool current = t->current_number && t->current.entry == row->index && t->current.line == row->number &&
                       t->current.start == start;
        int before = text_width(text, start);
        screen_text(y, x + before, width - before, text + start, end - start,
                    current ? STYLE_CURRENT_MATCH : STYLE_MATCH);
        from = end;
    }
}

/* A dot in the margin marks text from chinwag: a footnote or notice. */
static void draw_point(int y, const struct frame *f)
{
    screen_text(y, f->text_x, 1, "·", strlen("·"), STYLE_NOTICE);
}

static void draw_text_row(const struct ui *ui, const struct row *row, int y, const struct frame *f)
{
    bool notice = row->entry->role == UI_NOTICE;
    int x = f->text_x + TRANSCRIPT_INDENT, width = f->text_width - TRANSCRIPT_INDENT;
    if (notice && !row->number)
        draw_point(y, f);
    int used = screen_line(y, x, width, &row->entry->lines, row->line, 0);
    if (ui->transcript.find.len)
        draw_matches(ui, row, y, x, width);
    if (row->last && !row->entry->finished && row->entry->role == UI_MODEL_ANSWER && used < width)
        screen_text(y, x + used, 1, "▌", strlen("▌"), 0);
}

static void draw_thought(const struct ui *ui, const struct row *row, int y, const struct frame *f)
{
    const struct entry *e = row->entry;
    bool thinking = transcript_is_thinking(e), unfolded = transcript_is_unfolded(&ui->transcript, e);
    const char *mark = thinking ? status_spinner(ui->frame) : unfolded ? "▾" : "▸";
    char words[96], line[160], key[24], cut[160];
    int width = f->text_width - TRANSCRIPT_INDENT;
    status_thought(&e->thinking, thinking, text_words(e->text.s, e->thought), clock_wall_ms(), words, sizeof words);
    key_name(action_info(ACTION_THOUGHTS)->keys[0], key, sizeof key);
    snprintf(line, sizeof line, "%s %s · %s %s", mark, words, key, unfolded ? "folds it" : "shows it");
    if (row->index + 1 < ui->transcript.n || e->revealed || text_width(line, strlen(line)) > width)
        snprintf(line, sizeof line, "%s %s", mark, words); /* told once is enough */
    text_ellipsis(line, width, cut, sizeof cut);
    screen_text(y, f->text_x + TRANSCRIPT_INDENT, width, cut, strlen(cut), STYLE_DIM);
}

static void draw_footnote(const struct row *row, int y, const struct frame *f)
{
    const struct buffer *text = &row->entry->footnote;
    draw_point(y, f);
    screen_text(y, f->text_x + TRANSCRIPT_INDENT, f->text_width - TRANSCRIPT_INDENT, text->s, text->len,
                STYLE_NOTICE);
}

static void draw_waiting(const struct ui *ui, int y, const struct frame *f)
{
    char words[64], line[96];
    status_activity(&ui->status, words, sizeof words);
    if (!*words)
        return;
    snprintf(line, sizeof line, "%s %s", status_spinner(ui->frame), words);
    screen_text(y, f->text_x + TRANSCRIPT_INDENT, f->text_width - TRANSCRIPT_INDENT, line, strlen(line), STYLE_DIM);
}

static void draw_badge(struct ui *ui, const struct frame *f)
{
    char badge[64];
    size_t unseen = transcript_unseen(&ui->transcript);
    if (ui->transcript.following)
        return;
    if (unseen)
        snprintf(badge, sizeof badge, " ↓ %zu new line%s ", unseen, unseen == 1 ? "" : "s");
    else
        snprintf(badge, sizeof badge, " ↓ more ");
    int width = text_width(badge, strlen(badge)), x = f->text_x + f->text_width - width;
    screen_text(f->body_rows, x, width, badge, strlen(badge), unseen ? STYLE_REVERSE : STYLE_REVERSE | STYLE_DIM);
}

static void draw_welcome(const struct frame *f)
{
    static const char *const lines[] = {
        "Ask anything; it is answered on this machine.",
        "",
        "Enter sends, Alt-Enter or Ctrl-J begins a new line, Esc stops an answer.",
        "F1 help   F2 conversations   F3 settings   /  commands",
    };
    for (int i = 0; i < (int)(sizeof lines / sizeof *lines) && i + 1 < f->body_rows; i++)
        screen_text(2 + i, f->text_x + TRANSCRIPT_INDENT, f->text_width - TRANSCRIPT_INDENT, lines[i],
                    strlen(lines[i]), STYLE_DIM);
}

static void draw_transcript(struct ui *ui, const struct frame *f)
{
    struct row *rows = mem_new(1, (size_t)f->body_rows * sizeof *rows);
    transcript_view(&ui->transcript, rows);
    for (int i = 0; i < f->body_rows; i++) {
        int y = 1 + i;
        const struct row *row = &rows[i];
        if (!row->entry)
            continue;
        if (row->kind == ROW_HEADER)
            draw_header(ui, row, y, f);
        else if (row->kind == ROW_THOUGHT)
            draw_thought(ui, row, y, f);
        else if (row->kind == ROW_TEXT)
            draw_text_row(ui, row, y, f);
        else if (row->kind == ROW_WAITING)
            draw_waiting(ui, y, f);
        else if (row->kind == ROW_FOOTNOTE)
            draw_footnote(row, y, f);
    }
    free(rows);
    if (!ui->transcript.n)
        draw_welcome(f);
    draw_badge(ui, f);
}

static void draw_help(struct ui *ui, const struct frame *f)
{
    struct lines l = {0};
    help_layout(f->columns - 2, &l);
    long last = (long)l.n - f->body_rows;
    if (ui->help_top > last)
        ui->help_top = last;
    if (ui->help_top < 0)
        ui->help_top = 0;
    for (int i = 0; i < f->body_rows && (size_t)(ui->help_top + i) < l.n; i++)
        screen_line(1 + i, 1, f->columns - 2, &l, &l.v[ui->help_top + i], 0);
    if (ui->help_top < last)
        screen_text(f->body_rows, f->columns - 9, 8, " ↓ more ", strlen(" ↓ more "), STYLE_REVERSE | STYLE_DIM);
    lines_free(&l);
}

/* ---- draft, popup, status ---- */

/* Placeholder of an empty draft or prompt. */
static const char *placeholder(const struct ui *ui, const struct draft *d)
{
    if (d->text.len)
        return "";
    if (d == &ui->draft)
        return ui->transcript.n ? "" : "type here";
    bool setting = ui->prompt.kind == PROMPT_TEXT && ui->prompt.row < ui->settings.n;
    const char *blank = setting ? ui->settings.v[ui->prompt.row].blank : NULL;
    return blank ? blank : "";
}

static void draw_draft(struct ui *ui, struct frame *f)
{
    const char *label;
    struct draft *d = bottom_draft(ui, &label);
    int y = f->rows - 1 - f->draft_rows, label_width = text_width(label, strlen(label));
    bool focused = ui->focus == FOCUS_DRAFT || (ui->prompt.kind != PROMPT_NONE && !prompt_in_panel(ui));
    const struct draft_layout *l = draft_layout(d, draw_draft_width(ui));
    if (l->caret_row < d->top)
        d->top = l->caret_row;
    if (l->caret_row >= d->top + f->draft_rows)
        d->top = l->caret_row - f->draft_rows + 1;
    if (d->top > (int)l->lines.n - f->draft_rows)
        d->top = (int)l->lines.n - f->draft_rows;
    screen_text(y, 0, f->columns, label, strlen(label), focused ? STYLE_BOLD : STYLE_DIM);
    for (int i = 0; i < f->draft_rows; i++)
        screen_line(y + i, label_width, f->columns - label_width, &l->lines, &l->lines.v[d->top + i], 0);
    const char *dim = placeholder(ui, d);
    screen_text(y, label_width, f->columns - label_width, dim, strlen(dim), STYLE_DIM);
    if (focused) {
        f->caret = (struct caret){y + l->caret_row - d->top, label_width + l->caret_column, true};
    }
}

/* One row of the list above the draft. */
static void draw_choice(const struct frame *f, int y, const char *name, const char *help, bool selected)
{
    char cut[512];
    int width = f->columns, name_width = 18;
    screen_fill(y, 0, width, " ", selected ? STYLE_REVERSE : 0);
    char *clean = text_clean_string(name, strlen(name), true);
    int used = text_ellipsis(clean, width - 3, cut, sizeof cut);
    screen_text(y, 2, used, cut, strlen(cut), selected ? STYLE_REVERSE : help ? STYLE_CODE : 0);
    if (help && width > name_width + 10) {
        used = text_ellipsis(help, width - name_width - 3, cut, sizeof cut);
        screen_text(y, 2 + name_width, used, cut, strlen(cut), selected ? STYLE_REVERSE : STYLE_DIM);
    }
    free(clean);
}

/* Draws up to POPUP_ROWS choices, the selected one among them, above the rule; upwards: the first is the lowest row. */
static void draw_popup(struct ui *ui, const struct frame *f)
{
    struct completion c[ACTION_COUNT];
    const char *earlier[PROMPT_HISTORY_MAX];
    bool history = ui->prompt.kind == PROMPT_HISTORY, model = ui->prompt.kind == PROMPT_MODEL;
    size_t n = 0, selected = SIZE_MAX;
    if (history) {
        n = prompt_history(ui, earlier, PROMPT_HISTORY_MAX);
        selected = ui->prompt.selected;
    } else if (model) {
        n = ui->prompt.n_choices;
        selected = ui->prompt.choice;
    } else if (command_popup(ui)) {
        n = command_completions(ui, c, ACTION_COUNT);
        if (*ui->completing)
            selected = ui->completion;
    }
    int most = f->body_rows - 1 < POPUP_ROWS ? f->body_rows - 1 : POPUP_ROWS;
    if (!n || most < 1)
        return;
    size_t rows = n < (size_t)most ? n : (size_t)most;
    size_t top = selected != SIZE_MAX && selected >= rows ? selected - rows + 1 : 0;
    for (size_t i = 0; i < rows; i++) {
        int y = history ? f->body_rows - (int)i : f->body_rows - (int)(rows - 1 - i);
        size_t at = top + i;
        draw_choice(f, y,
                    history ? earlier[at]
                    : model ? ui->prompt.choices[at]
                            : c[at].name,
                    history || model ? NULL : c[at].help, at == selected);
    }
}

static void draw_find_status(const struct ui *ui, int y, int width)
{
    const struct transcript *t = &ui->transcript;
    char count[64] = "", help[64];
    if (t->find.len && t->current_number)
        snprintf(count, sizeof count, "%zu of %zu   ", t->current_number, t->n_matches);
    else if (t->find.len)
        snprintf(count, sizeof count, "not found   ");
    snprintf(help, sizeof help, "%s",
             ui->prompt.moving ? "n older, N newer, Esc ends" : "Enter older, Down newer, Esc ends");
    int used = screen_text(y, 1, width, count, strlen(count), STYLE_BOLD);
    screen_text(y, 1 + used, width - used, help, strlen(help), STYLE_DIM);
}

static void draw_status(struct ui *ui, const struct frame *f)
{
    int y = f->rows - 1, width = f->columns - 2;
    if (ui->flash) {
        char cut[1024];
        int used = text_ellipsis(ui->flash, width, cut, sizeof cut);
        screen_text(y, 1, used, cut, strlen(cut), STYLE_BOLD);
        return;
    }
    if (ui->prompt.kind == PROMPT_FIND) {
        draw_find_status(ui, y, width);
        return;
    }
    if (ui->prompt.kind == PROMPT_TEXT && ui->prompt.row < ui->settings.n) {
        char help[256];
        snprintf(help, sizeof help, "%.120s   Alt-Enter new line   Esc leaves it as it was",
                 ui->settings.v[ui->prompt.row].help);
        screen_text(y, 1, width, help, strlen(help), STYLE_DIM);
        return;
    }
    if (ui->warning) {
        char cut[1024];
        int used = text_ellipsis(ui->warning, width, cut, sizeof cut);
        screen_text(y, 1, used, cut, strlen(cut), STYLE_WARNING);
        return;
    }
    struct lines l = {0};
    status_layout(&ui->status, width, &l);
    screen_line(y, 1, width, &l, &l.v[0], 0);
    lines_free(&l);
}

/* Draws the rule above the draft, with the current activity. */
static void draw_rule(const struct ui *ui, const struct frame *f)
{
    char words[64], line[160];
    int y = f->rows - 2 - f->draft_rows;
    screen_fill(y, 0, f->columns, "─", STYLE_DIM);
    status_activity(&ui->status, words, sizeof words);
    if (!*words)
        return;
    char then[64] = "";
    if (ui->n_waiting == 1)
        snprintf(then, sizeof then, " · then your message is sent");
    else if (ui->n_waiting)
        snprintf(then, sizeof then, " · then your %zu messages are sent", ui->n_waiting);
    snprintf(line, sizeof line, " %s %s%s ", status_spinner(ui->frame), words, then);
    screen_text(y, 2, f->columns - 3, line, strlen(line), STYLE_BOLD);
}

static void draw_waiting_messages(const struct ui *ui, const struct frame *f)
{
    for (int i = 0; i < f->waiting_rows; i++) {
        char cut[1024];
        struct buffer line = BUFFER_INIT;
        waiting_line(ui, i, f->waiting_rows, &line);
        int y = f->rows - 2 - f->draft_rows - f->waiting_rows + i;
        int used = text_ellipsis(line.s, f->columns - 2, cut, sizeof cut);
        screen_text(y, 1, used, cut, strlen(cut), STYLE_DIM);
        buffer_free(&line);
    }
}

static void draw_too_small(const struct ui *ui)
{
    char text[64];
    struct flow f = {0};
    struct lines l = {0};
    snprintf(text, sizeof text, "too small: chinwag needs at least %dx%d", MIN_COLUMNS, MIN_ROWS);
    const char *shown = ui->flash ? ui->flash : text;
    flow_add_raw(&f, shown, strlen(shown), 0);
    flow_wrap(&f, screen_columns(), false, "", 0, &l);
    for (int y = 0; y < screen_rows() && (size_t)y < l.n; y++)
        screen_line(y, 0, screen_columns(), &l, &l.v[y], 0);
    flow_free(&f);
    lines_free(&l);
}

void draw(struct ui *ui)
{
    screen_begin();
    if (draw_is_too_small()) {
        draw_too_small(ui);
        screen_end((struct caret){0});
        return;
    }
    struct frame f = measure(ui);
    transcript_resize(&ui->transcript, f.text_width, f.body_rows);
    draw_title(ui, &f);
    if (ui->help)
        draw_help(ui, &f);
    else
        draw_transcript(ui, &f);
    draw_waiting_messages(ui, &f);
    draw_rule(ui, &f);
    draw_draft(ui, &f);
    draw_status(ui, &f);
    struct rect left = {1, 0, f.body_rows, f.left_width};
    struct rect right = {1, f.columns - f.right_width, f.body_rows, f.right_width};
    if (f.left_width && !ui->help)
        panel_draw(ui, FOCUS_CONVERSATIONS, left, &f.caret);
    if (f.right_width && !ui->help)
        panel_draw(ui, FOCUS_SETTINGS, right, &f.caret);
    if (ui->prompt.kind != PROMPT_NONE && prompt_in_panel(ui) && ui->prompt.kind != PROMPT_DELETE)
        f.caret.visible = true;
    draw_popup(ui, &f);
    screen_end(f.caret);
}
