/* draft.c - see draft.h */
#include "draft.h"

#include "../src/base/mem.h"
#include "text.h"

#include <stdlib.h>
#include <string.h>

/* ---- history ---- */

void history_add(struct history *h, const char *prompt)
{
    if (!*prompt || (h->n && !strcmp(h->v[h->n - 1], prompt)))
        return;
    h->v = mem_grow(h->v, &h->cap, h->n + 1, sizeof *h->v);
    h->v[h->n++] = mem_string_or_empty(prompt);
}

void history_clear(struct history *h)
{
    for (size_t i = 0; i < h->n; i++)
        free(h->v[i]);
    free(h->v);
    *h = (struct history){0};
}

/* ---- editing ---- */

static void changed(struct draft *d)
{
    if (d->layout)
        lines_free(&d->layout->lines);
    free(d->layout);
    d->layout = NULL;
}

void draft_init(struct draft *d)
{
    *d = (struct draft){.text = BUFFER_INIT, .kill = BUFFER_INIT, .goal = -1};
}

void draft_free(struct draft *d)
{
    buffer_free(&d->text);
    buffer_free(&d->kill);
    draft_forget_edits(d);
    free(d->edited);
    changed(d);
}

const char *draft_text(const struct draft *d)
{
    return d->text.s;
}

void draft_insert(struct draft *d, const char *s, size_t n)
{
    size_t valid_n;
    char *valid = text_valid(s, n, &valid_n);
    changed(d);
    if (valid_n && !d->caret)
        d->literal = false;
    buffer_insert(&d->text, d->caret, valid, valid_n);
    d->caret += valid_n;
    d->goal = -1;
    free(valid);
}

void draft_paste(struct draft *d, const char *s, size_t n)
{
    bool first = !d->caret;
    draft_insert(d, s, n);
    if (first && d->caret)
        d->literal = true;
}

void draft_replace(struct draft *d, const char *s, size_t n)
{
    changed(d);
    buffer_clear(&d->text);
    d->literal = false;
    d->caret = 0;
    d->top = 0;
    draft_insert(d, s, n);
}

void draft_set(struct draft *d, const char *text)
{
    draft_replace(d, text, strlen(text));
    d->at_prompt = 0;
}

static size_t line_start(const struct draft *d, size_t at)
{
    while (at && d->text.s[at - 1] != '\n')
        at--;
    return at;
}

static size_t line_end(const struct draft *d, size_t at)
{
    while (at < d->text.len && d->text.s[at] != '\n')
        at++;
    return at;
}

static size_t target(const struct draft *d, enum draft_move to)
{
    const char *s = draft_text(d);
    switch (to) {
    case DRAFT_LEFT: return text_prev(s, d->text.len, d->caret);
    case DRAFT_RIGHT: return text_next(s, d->text.len, d->caret);
    case DRAFT_WORD_LEFT: return text_word_prev(s, d->text.len, d->caret);
    case DRAFT_WORD_RIGHT: return text_word_next(s, d->text.len, d->caret);
    case DRAFT_LINE_START: return line_start(d, d->caret);
    case DRAFT_LINE_END: return line_end(d, d->caret);
    case DRAFT_START: return 0;
    default: return d->text.len;
    }
}

void draft_move(struct draft *d, enum draft_move to)
{
    d->caret = target(d, to);
    d->goal = -1;
}

static void take(struct draft *d, size_t to, bool keep)
{
    size_t start = to < d->caret ? to : d->caret, end = to < d->caret ? d->caret : to;
    if (start == end)
        return;
    if (keep) {
        buffer_set(&d->kill, d->text.s + start, end - start);
        d->kill_literal = d->literal && !start;
    }
    changed(d);
    buffer_remove(&d->text, start, end - start);
    d->caret = start;
    d->goal = -1;
    d->literal = d->literal && d->text.len;
}

void draft_delete(struct draft *d, enum draft_move to)
{
    take(d, target(d, to), false);
}

void draft_kill(struct draft *d, enum draft_move to)
{
    size_t end = target(d, to);
    /* As in Emacs, at the end of a line the newline itself goes; likewise backwards. */
    if (end == d->caret && to == DRAFT_LINE_END && end < d->text.len)
        end++;
    if (end == d->caret && to == DRAFT_LINE_START && end)
        end--;
    take(d, end, true);
}

void draft_yank(struct draft *d)
{
    (d->kill_literal ? draft_paste : draft_insert)(d, d->kill.s, d->kill.len);
}

/* ---- earlier prompts ---- */

static struct edited *find_edited(const struct draft *d, size_t at)
{
    for (size_t i = 0; i < d->n_edited; i++)
        if (d->edited[i].at == at)
            return &d->edited[i];
    return NULL;
}

static void keep_edited(struct draft *d, const struct history *h)
{
    struct edited *e = find_edited(d, d->at_prompt);
    if (!e && d->at_prompt && !strcmp(draft_text(d), h->v[h->n - d->at_prompt]))
        return;
    if (!e) {
        d->edited = mem_grow(d->edited, &d->cap_edited, d->n_edited + 1, sizeof *d->edited);
        e = &d->edited[d->n_edited++];
        *e = (struct edited){.at = d->at_prompt};
    }
    free(e->text);
    e->text = mem_string_or_empty(draft_text(d));
    e->literal = d->literal;
}

static void show_prompt(struct draft *d, size_t at, const char *otherwise)
{
    const struct edited *e = find_edited(d, at);
    draft_set(d, e ? e->text : otherwise);
    d->literal = e && e->literal;
    d->at_prompt = at;
}

void draft_recall(struct draft *d, const struct history *h, size_t index)
{
    keep_edited(d, h);
    show_prompt(d, h->n - index, h->v[index]);
}

void draft_forget_edits(struct draft *d)
{
    for (size_t i = 0; i < d->n_edited; i++)
        free(d->edited[i].text);
    d->n_edited = 0;
    d->at_prompt = 0;
}

void draft_clear(struct draft *d)
{
    draft_move(d, DRAFT_END);
    draft_kill(d, DRAFT_START);
    show_prompt(d, 0, "");
}

bool draft_history(struct draft *d, const struct history *h, int direction)
{
    if ((direction < 0 && d->at_prompt >= h->n) || (direction > 0 && !d->at_prompt))
        return false;
    size_t at = direction < 0 ? d->at_prompt + 1 : d->at_prompt - 1;
    keep_edited(d, h);
    show_prompt(d, at, at ? h->v[h->n - at] : "");
    return true;
}

/* ---- layout ---- */

static void place_caret(const struct draft *d, const struct cleaned *c, const struct wrap_piece *piece, int row,
                        int width, struct draft_layout *out)
{
    /* The caret belongs to the row whose text begins last at or before it. */
    size_t start_raw = c->origin[piece->start];
    if (d->caret < start_raw)
        return;
    size_t at = piece->start;
    while (at < piece->next && at < c->n && c->origin[at] < d->caret)
        at++;
    if (at > piece->end && piece->hard)
        at = piece->end;
    int column = text_width(c->s + piece->start, at - piece->start);
    out->caret_row = row;
    out->caret_column = column < width ? column : width;
}

const struct draft_layout *draft_layout(struct draft *d, int width)
{
    struct cleaned c;
    struct wrap w;
    struct wrap_piece piece;
    if (d->layout && d->layout_width == width && d->layout_caret == d->caret)
        return d->layout;
    changed(d);
    struct draft_layout *out = d->layout = mem_new(1, sizeof *out);
    d->layout_width = width;
    d->layout_caret = d->caret;
    text_clean(draft_text(d), d->text.len, &c);
    wrap_begin(&w, c.s, c.n, false);
    for (int row = 0; wrap_next(&w, width, &piece); row++) {
        lines_put(&out->lines, c.s + piece.start, piece.end - piece.start, 0);
        lines_end(&out->lines, c.origin[piece.start], 0);
        place_caret(d, &c, &piece, row, width, out);
    }
    wrap_end(&w);
    cleaned_free(&c);
    return out;
}

/* The offset in the text of a column of a row. */
static size_t caret_at(const struct draft *d, const struct draft_layout *l, int row, int column)
{
    const struct line *line = &l->lines.v[row];
    size_t at = line->src, end = d->text.len;
    if ((size_t)row + 1 < l->lines.n) {
        end = l->lines.v[row + 1].src;
        end = text_prev(draft_text(d), d->text.len, end); /* before its newline, or before its last character */
    }
    while (at < end) {
        size_t next = text_next(draft_text(d), d->text.len, at);
        char *clean = text_clean_string(d->text.s + line->src, next - line->src, true);
        int width = text_width(clean, strlen(clean));
        free(clean);
        if (width > column)
            break;
        at = next;
    }
    return at;
}

bool draft_vertical(struct draft *d, int direction, int width)
{
    const struct draft_layout *l = draft_layout(d, width);
    int row = l->caret_row + direction;
    bool inside = row >= 0 && (size_t)row < l->lines.n;
    if (inside) {
        if (d->goal < 0)
            d->goal = l->caret_column;
        d->caret = caret_at(d, l, row, d->goal);
    }
    return inside;
}
