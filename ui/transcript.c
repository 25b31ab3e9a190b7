/* transcript.c - see transcript.h */
#include "transcript.h"

#include "../src/base/mem.h"
#include "markdown.h"
#include "text.h"

#include <stdlib.h>
#include <string.h>

/* ---- layout of one entry ---- */

static size_t trimmed(const struct entry *e)
{
    size_t n = e->text.len;
    while (n && (e->text.s[n - 1] == '\n' || e->text.s[n - 1] == ' ' || e->text.s[n - 1] == '\r'))
        n--;
    return n;
}

static void layout_plain(struct entry *e, int width)
{
    struct flow f = {0};
    size_t n = trimmed(e);
    if (n) {
        flow_add_raw(&f, e->text.s, n, e->role == UI_NOTICE ? STYLE_NOTICE : 0);
        flow_wrap(&f, width, false, "", 0, &e->lines);
    }
    flow_free(&f);
}

static void put_thought(struct entry *e, size_t from, size_t to, const struct markdown_options *options)
{
    struct flow f = {0};
    flow_add_raw(&f, e->text.s + from, to - from, STYLE_DIM);
    for (size_t i = 0; i < f.n; i++)
        f.src[i] += (uint32_t)from;
    flow_wrap(&f, options->width, false, options->ascii ? "| " : "│ ", STYLE_DIM, &e->lines);
    flow_free(&f);
}

/* Lays out the thought verbatim, quoted. Complete lines are final, the last line is laid out again when it grows. */
static void layout_thought(struct entry *e, const struct markdown_options *options)
{
    size_t closed = e->thought;
    while (closed > e->closed && e->text.s[closed - 1] != '\n')
        closed--;
    if (closed > e->closed) {
        put_thought(e, e->closed, closed - 1, options);
        e->closed = closed;
        e->closed_lines = e->lines.n;
    }
    if (closed < e->thought)
        put_thought(e, closed, e->thought, options);
}

/* Lays out text[from..to) and appends it, after an empty line if there are lines before. */
static void layout_block(struct entry *e, size_t from, size_t to, const struct markdown_options *options)
{
    size_t before = e->lines.n;
    if (before)
        lines_end(&e->lines, (uint32_t)from, 0);
    size_t with_gap = e->lines.n;
    markdown_layout(e->text.s, from, to, options, &e->lines);
    if (e->lines.n == with_gap)
        lines_truncate(&e->lines, before);
}

static void layout_answer(struct entry *e, const struct markdown_options *options)
{
    size_t n = trimmed(e);
    lines_truncate(&e->lines, e->closed_lines);
    if (e->closed < e->thought) {
        if (e->laid_unfolded)
            layout_thought(e, options);
        if (n <= e->thought)
            return;
        e->closed = e->thought; /* the answer has begun, so the thought no longer grows */
        e->closed_lines = e->lines.n;
    }
    if (!e->finished) {
        size_t closed = markdown_closed(e->text.s, e->text.len, e->closed);
        if (closed > e->closed) {
            layout_block(e, e->closed, closed, options);
            e->closed = closed;
            e->closed_lines = e->lines.n;
        }
    }
    if (n > e->closed)
        layout_block(e, e->closed, n, options);
}

static void layout(const struct transcript *t, struct entry *e)
{
    int width = t->width - TRANSCRIPT_INDENT;
    struct markdown_options options = {.width = width > 4 ? width : 4, .ascii = t->ascii};
    bool unfolded = transcript_is_unfolded(t, e);
    if (e->laid_width == options.width && e->laid_n == e->text.len && e->laid_unfolded == unfolded)
        return;
    if (e->laid_width != options.width || e->laid_unfolded != unfolded || e->role != UI_MODEL_ANSWER) {
        lines_truncate(&e->lines, 0);
        e->closed = e->closed_lines = 0;
    }
    e->laid_unfolded = unfolded;
    if (e->role == UI_MODEL_ANSWER)
        layout_answer(e, &options);
    else
        layout_plain(e, options.width);
    e->laid_width = options.width;
    e->laid_n = e->text.len;
}

/* ---- rows ---- */

/* Rows above the text: the header, and the row of a thought. */
static size_t head_of(const struct entry *e)
{
    return (e->role != UI_NOTICE) + (e->thought > 0);
}

bool transcript_is_thinking(const struct entry *e)
{
    return e->thought && !e->finished && !e->thinking.whole;
}

static bool is_waiting(const struct entry *e)
{
    return e->role == UI_MODEL_ANSWER && !e->finished && !e->lines.n && !transcript_is_thinking(e);
}

static size_t rows_of(const struct transcript *t, struct entry *e)
{
    layout(t, e);
    return head_of(e) + e->lines.n + is_waiting(e) + (e->footnote.len != 0) + 1;
}

/* A position: a row of an entry. */
struct position {
    size_t entry, row;
};

static struct position position_of(const struct transcript *t, struct anchor a)
{
    if (a.entry >= t->n)
        return (struct position){t->n, 0};
    struct entry *e = &t->v[a.entry];
    struct position p = {a.entry, 0};
    size_t rows = rows_of(t, e);
    if (a.part == ANCHOR_HEADER && a.extra < head_of(e)) {
        p.row = a.extra;
    } else if (a.part == ANCHOR_TEXT) {
        size_t line = 0;
        while (line + 1 < e->lines.n && e->lines.v[line + 1].src <= a.src)
            line++;
        while (line && e->lines.v[line].src == e->lines.v[line - 1].src && e->lines.v[line].src == a.src)
            line--;
        p.row = head_of(e) + line + a.extra;
    } else if (a.part == ANCHOR_END) {
        p.row = rows - 1;
    }
    if (p.row >= rows)
        p.row = rows - 1;
    return p;
}

static struct anchor anchor_of(const struct transcript *t, struct position p)
{
    struct anchor a = {.entry = p.entry, .part = ANCHOR_HEADER, .extra = p.row};
    if (p.entry >= t->n || p.row < head_of(&t->v[p.entry]))
        return a;
    const struct entry *e = &t->v[p.entry];
    a.extra = 0;
    if (p.row >= head_of(e) + e->lines.n) {
        a.part = ANCHOR_END;
        return a;
    }
    size_t line = p.row - head_of(e), first = line;
    while (first && e->lines.v[first - 1].src == e->lines.v[line].src)
        first--;
    a.part = ANCHOR_TEXT;
    a.src = e->lines.v[line].src;
    a.extra = line - first;
    return a;
}

/* Moves a position by rows; clamps to the first and last row. */
static struct position moved(const struct transcript *t, struct position p, long by)
{
    while (by < 0) {
        if (p.row >= (size_t)-by) {
            p.row -= (size_t)-by;
            return p;
        }
        if (!p.entry)
            return (struct position){0, 0};
        by += (long)p.row + 1;
        p.row = rows_of(t, &t->v[--p.entry]) - 1;
    }
    while (by > 0 && p.entry < t->n) {
        size_t left = rows_of(t, &t->v[p.entry]) - p.row;
        if ((size_t)by < left) {
            p.row += (size_t)by;
            return p;
        }
        by -= (long)left;
        p = (struct position){p.entry + 1, 0};
    }
    return p;
}

/* Returns the top of the view at the tail: the last row in view is the last row of text, not the empty row after it. */
static struct position tail_top(const struct transcript *t)
{
    return moved(t, (struct position){t->n, 0}, -(long)t->height);
}

static bool before(struct position a, struct position b)
{
    return a.entry < b.entry || (a.entry == b.entry && a.row < b.row);
}

static struct position top(const struct transcript *t)
{
    struct position tail = tail_top(t);
    if (t->following)
        return tail;
    struct position p = position_of(t, t->top);
    return before(tail, p) ? tail : p;
}

static void leave_tail(struct transcript *t)
{
    if (!t->following)
        return;
    t->following = false;
    t->seen_entry = t->n ? t->n - 1 : 0;
    t->seen_text = t->n ? t->v[t->n - 1].text.len : 0;
}

static void move_top(struct transcript *t, struct position p)
{
    if (!before(p, tail_top(t))) {
        t->following = true;
        return;
    }
    leave_tail(t);
    t->top = anchor_of(t, p);
}

void transcript_view(struct transcript *t, struct row *rows)
{
    struct position p = top(t);
    for (int i = 0; i < t->height; i++) {
        rows[i] = (struct row){0};
        if (p.entry >= t->n)
            continue;
        struct entry *e = &t->v[p.entry];
        size_t n = rows_of(t, e);
        rows[i].entry = e;
        rows[i].index = p.entry;
        size_t line = p.row - head_of(e);
        if (p.row < head_of(e)) {
            rows[i].kind = p.row ? ROW_THOUGHT : ROW_HEADER;
        } else if (line < e->lines.n) {
            rows[i].kind = ROW_TEXT;
            rows[i].number = line;
            rows[i].line = &e->lines.v[line];
            rows[i].last = line + 1 == e->lines.n;
        } else {
            rows[i].kind = p.row + 1 == n ? ROW_EMPTY : is_waiting(e) && !line ? ROW_WAITING : ROW_FOOTNOTE;
        }
        if (++p.row == n)
            p = (struct position){p.entry + 1, 0};
    }
}

size_t transcript_unseen(struct transcript *t)
{
    if (t->following || t->seen_entry >= t->n)
        return 0;
    size_t rows = 0;
    struct entry *e = &t->v[t->seen_entry];
    layout(t, e);
    for (size_t i = e->lines.n; i-- && e->lines.v[i].src >= t->seen_text;)
        rows++;
    for (size_t i = t->seen_entry + 1; i < t->n; i++)
        rows += rows_of(t, &t->v[i]) - 1;
    return rows;
}

/* ---- moving ---- */

void transcript_scroll(struct transcript *t, long rows)
{
    move_top(t, moved(t, top(t), rows));
}

void transcript_home(struct transcript *t)
{
    move_top(t, (struct position){0, 0});
}

void transcript_end(struct transcript *t)
{
    t->following = true;
}

void transcript_previous(struct transcript *t, int direction)
{
    struct position p = top(t);
    if (direction < 0 && p.row == 0 && p.entry)
        p.entry--;
    else if (direction > 0)
        p.entry++;
    p.row = 0;
    move_top(t, p);
}

bool transcript_is_unfolded(const struct transcript *t, const struct entry *e)
{
    return e->thought && (t->unfolded || e->revealed);
}

bool transcript_unfold(struct transcript *t, bool unfolded)
{
    size_t last = t->n;
    t->unfolded = unfolded;
    while (last && !t->v[last - 1].thought)
        last--;
    if (!unfolded)
        move_top(t, top(t));                                  /* everything may fit into the view again */
    else if (t->following && last && t->v[last - 1].finished) /* else keeps following the answer */
        move_top(t, (struct position){last - 1, 0});
    return last > 0;
}

void transcript_resize(struct transcript *t, int width, int height)
{
    t->width = width > 1 ? width : 1;
    t->height = height > 0 ? height : 1;
}

/* ---- content ---- */

void transcript_init(struct transcript *t)
{
    *t = (struct transcript){.width = 80, .height = 20, .following = true, .find = BUFFER_INIT};
}

void transcript_clear(struct transcript *t)
{
    for (size_t i = 0; i < t->n; i++) {
        buffer_free(&t->v[i].text);
        buffer_free(&t->v[i].footnote);
        lines_free(&t->v[i].lines);
    }
    t->n = 0;
    t->following = true;
    transcript_find_clear(t);
}

void transcript_free(struct transcript *t)
{
    transcript_clear(t);
    free(t->v);
    buffer_free(&t->find);
    *t = (struct transcript){.find = BUFFER_INIT};
}

void transcript_add(struct transcript *t, int64_t id, enum ui_role role, const char *text, size_t n, int64_t time_ms)
{
    t->v = mem_grow(t->v, &t->cap, t->n + 1, sizeof *t->v);
    struct entry *e = &t->v[t->n++];
    *e = (struct entry){
        .id = id, .role = role, .time_ms = time_ms, .text = BUFFER_INIT, .footnote = BUFFER_INIT, .finished = n > 0};
    buffer_add(&e->text, text ? text : "", n);
}

static struct entry *entry_of(struct transcript *t, int64_t id)
{
    for (size_t i = t->n; i--;)
        if (t->v[i].id == id && t->v[i].role != UI_NOTICE)
            return &t->v[i];
    return NULL;
}

bool transcript_append(struct transcript *t, int64_t id, const char *piece, size_t n)
{
    struct entry *e = entry_of(t, id);
    if (!e)
        return false;
    if (e->finished)
        e->laid_width = 0;
    e->finished = false;
    buffer_add(&e->text, piece, n);
    return true;
}

bool transcript_append_thought(struct transcript *t, int64_t id, const struct ui_thought *thought, const char *piece,
                               size_t n)
{
    struct entry *e = entry_of(t, id);
    if (!e)
        return false;
    e->thinking = *thought;
    if (n && (e->finished || e->text.len > e->thought))
        e->laid_width = 0;
    if (n)
        e->finished = false;
    buffer_insert(&e->text, e->thought, piece, n);
    e->thought += n;
    return true;
}

bool transcript_finish(struct transcript *t, int64_t id, const char *footnote)
{
    struct entry *e = entry_of(t, id);
    if (!e)
        return false;
    e->finished = true;
    e->laid_width = 0;
    buffer_clear(&e->footnote);
    if (footnote && *footnote) {
        char *clean = text_clean_string(footnote, strlen(footnote), true);
        buffer_puts(&e->footnote, clean);
        free(clean);
    }
    return true;
}

void transcript_set_alternative(struct transcript *t, int64_t id, int number, int count)
{
    struct entry *e = entry_of(t, id);
    if (!e)
        return;
    e->number = count > 1 ? number : 0;
    e->count = count;
}

void transcript_set_time(struct transcript *t, int64_t id, int64_t time_ms)
{
    struct entry *e = entry_of(t, id);
    if (e)
        e->time_ms = time_ms;
}

void transcript_remove(struct transcript *t, int64_t id)
{
    struct entry *e = entry_of(t, id);
    if (!e)
        return;
    size_t keep = (size_t)(e - t->v);
    for (size_t i = keep; i < t->n; i++) {
        buffer_free(&t->v[i].text);
        buffer_free(&t->v[i].footnote);
        lines_free(&t->v[i].lines);
    }
    t->n = keep;
    if (t->top.entry >= t->n)
        t->following = true;
}

struct entry *transcript_last(struct transcript *t, enum ui_role role)
{
    for (size_t i = t->n; i--;)
        if (t->v[i].role == role)
            return &t->v[i];
    return NULL;
}

/* ---- finding ---- */

/* Text of a paragraph, joined from its wrapped lines so that a match may cross line ends. */
struct paragraph {
    struct buffer text;
    size_t first, n; /* lines */
    size_t *start;   /* of each line in text; n + 1 of them */
};

static void paragraph_at(const struct lines *l, size_t first, struct paragraph *p)
{
    *p = (struct paragraph){.text = BUFFER_INIT, .first = first};
    size_t end = first + 1, cap = 0;
    while (end < l->n && l->v[end].joins)
        end++;
    p->n = end - first;
    p->start = mem_grow(NULL, &cap, p->n + 1, sizeof *p->start);
    for (size_t i = 0; i < p->n; i++) {
        const struct line *line = &l->v[first + i];
        if (i && line->joins == 2)
            buffer_puts(&p->text, " ");
        p->start[i] = p->text.len;
        buffer_add(&p->text, l->text + line->text + line->margin, line->len - line->margin);
    }
    p->start[p->n] = p->text.len;
}

static void paragraph_free(struct paragraph *p)
{
    buffer_free(&p->text);
    free(p->start);
}

bool transcript_match(const struct transcript *t, const struct entry *e, size_t line, size_t from, size_t *start,
                      size_t *end)
{
    if (!t->find.len)
        return false;
    size_t first = line;
    while (first && e->lines.v[first].joins)
        first--;
    struct paragraph p;
    paragraph_at(&e->lines, first, &p);
    size_t own = p.start[line - first], next = p.start[line - first + 1], at = 0, margin = e->lines.v[line].margin;
    size_t a, b;
    bool found = false;
    while (!found && text_find(p.text.s, p.text.len, t->find.s, t->find.len, at, &a, &b)) {
        size_t lo = a > own ? a - own + margin : margin, hi = (b < next ? b : next) - own + margin;
        if (a < next && b > own && hi > from) {
            *start = lo > from ? lo : from;
            *end = hi < e->lines.v[line].len ? hi : e->lines.v[line].len;
            found = *start < *end;
        }
        at = b;
    }
    paragraph_free(&p);
    return found;
}

/* Searches a thought too, folded or not. A thought that matches is shown unfolded during the search. */
static void reveal(const struct transcript *t, struct entry *e)
{
    size_t start, end;
    e->revealed = e->thought && text_find(e->text.s, e->thought, t->find.s, t->find.len, 0, &start, &end);
}

/* Appends the matches of one entry, in order. */
static void matches_of(const struct transcript *t, size_t index, struct match **out, size_t *n, size_t *cap)
{
    struct entry *e = &t->v[index];
    reveal(t, e);
    layout(t, e);
    for (size_t line = 0; line < e->lines.n;) {
        struct paragraph p;
        size_t at = 0, a, b;
        paragraph_at(&e->lines, line, &p);
        while (text_find(p.text.s, p.text.len, t->find.s, t->find.len, at, &a, &b)) {
            size_t own = 0;
            while (own + 1 < p.n && p.start[own + 1] <= a)
                own++;
            *out = mem_grow(*out, cap, *n + 1, sizeof **out);
            (*out)[(*n)++] = (struct match){index, line + own, a - p.start[own] + e->lines.v[line + own].margin};
            at = b;
        }
        line += p.n;
        paragraph_free(&p);
    }
}

size_t transcript_find(struct transcript *t, const char *needle, int direction, size_t *at)
{
    struct match *matches = NULL;
    size_t n = 0, cap = 0, current = 0;
    char *clean = text_clean_string(needle, strlen(needle), true);
    bool again = t->current_number && !strcmp(clean, t->find.s);
    buffer_set(&t->find, clean, strlen(clean));
    free(clean);
    for (size_t i = 0; i < t->n && t->find.len; i++)
        matches_of(t, i, &matches, &n, &cap);
    if (n) {
        current = n - 1;
        if (again) {
            current = t->current_number <= n ? t->current_number - 1 : n - 1;
            current = direction < 0 ? (current + n - 1) % n : direction > 0 ? (current + 1) % n : current;
        }
        struct position p = {matches[current].entry, matches[current].line + head_of(&t->v[matches[current].entry])};
        t->current = matches[current];
        move_top(t, moved(t, p, -(long)t->height / 2));
    }
    t->current_number = n ? current + 1 : 0;
    t->n_matches = n;
    if (at)
        *at = t->current_number;
    free(matches);
    return n;
}

void transcript_find_clear(struct transcript *t)
{
    for (size_t i = 0; i < t->n; i++)
        t->v[i].revealed = false;
    buffer_clear(&t->find);
    t->current_number = 0;
}
