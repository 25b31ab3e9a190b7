/* lines.c - see lines.h */
#include "lines.h"

#include "../src/base/mem.h"
#include "text.h"

#include <stdlib.h>
#include <string.h>
#include <unilbrk.h>

/* ---- lines ---- */

static void begin_line(struct lines *l)
{
    if (l->building)
        return;
    l->building = true;
    l->open = (struct line){.span = (uint32_t)l->n_spans, .text = (uint32_t)l->n_text};
}

void lines_put(struct lines *l, const char *s, size_t n, unsigned style)
{
    begin_line(l);
    if (!n)
        return;
    l->text = mem_grow(l->text, &l->cap_text, l->n_text + n, 1);
    memcpy(l->text + l->n_text, s, n);
    struct text_run *last = l->open.n_spans ? &l->spans[l->n_spans - 1] : NULL;
    if (last && last->style == style) {
        last->len += (uint32_t)n;
    } else {
        l->spans = mem_grow(l->spans, &l->cap_spans, l->n_spans + 1, sizeof *l->spans);
        l->spans[l->n_spans++] = (struct text_run){(uint32_t)l->n_text, (uint32_t)n, (uint16_t)style};
        l->open.n_spans++;
    }
    l->n_text += n;
    l->open.len += (uint32_t)n;
    l->open.width = (uint16_t)(l->open.width + text_width(s, n));
}

void lines_margin(struct lines *l)
{
    begin_line(l);
    l->open.margin = (uint8_t)(l->open.len < 255 ? l->open.len : 255);
}

void lines_end(struct lines *l, uint32_t src, unsigned joins)
{
    begin_line(l);
    l->open.src = src;
    l->open.joins = (uint8_t)joins;
    l->v = mem_grow(l->v, &l->cap, l->n + 1, sizeof *l->v);
    l->v[l->n++] = l->open;
    l->building = false;
}

void lines_truncate(struct lines *l, size_t n)
{
    if (n >= l->n)
        return;
    l->n_text = l->v[n].text;
    l->n_spans = l->v[n].span;
    l->n = n;
    l->building = false;
}

void lines_free(struct lines *l)
{
    free(l->text);
    free(l->spans);
    free(l->v);
    *l = (struct lines){0};
}

/* ---- flow ---- */

static void flow_reserve(struct flow *f, size_t n)
{
    f->s = mem_grow(f->s, &f->cap_s, n + 1, 1);
    f->style = mem_grow(f->style, &f->cap_style, n + 1, sizeof *f->style);
    f->src = mem_grow(f->src, &f->cap_src, n + 1, sizeof *f->src);
}

void flow_add(struct flow *f, const char *s, size_t n, unsigned style, uint32_t src, bool fixed)
{
    flow_reserve(f, f->n + n);
    memcpy(f->s + f->n, s, n);
    for (size_t i = 0; i < n; i++) {
        f->style[f->n + i] = (uint16_t)style;
        f->src[f->n + i] = fixed ? src : src + (uint32_t)i;
    }
    f->n += n;
    f->s[f->n] = 0;
}

void flow_add_raw(struct flow *f, const char *s, size_t n, unsigned style)
{
    struct cleaned c;
    text_clean(s, n, &c);
    size_t at = f->n;
    flow_add(f, c.s, c.n, style, 0, true);
    memcpy(f->src + at, c.origin, c.n * sizeof *f->src);
    cleaned_free(&c);
}

void flow_clear(struct flow *f)
{
    f->n = 0;
}

void flow_free(struct flow *f)
{
    free(f->s);
    free(f->style);
    free(f->src);
    *f = (struct flow){0};
}

void flow_put(const struct flow *f, size_t start, size_t end, struct lines *out)
{
    for (size_t i = start; i < end;) {
        size_t to = i + 1;
        while (to < end && f->style[to] == f->style[i])
            to++;
        lines_put(out, f->s + i, to - i, f->style[i]);
        i = to;
    }
}

/* ---- wrapping ---- */

void wrap_begin(struct wrap *w, const char *s, size_t n, bool verbatim)
{
    *w = (struct wrap){.s = s, .n = n, .verbatim = verbatim};
    w->breaks = mem_new(1, n + 1);
    if (n && !verbatim)
        u8_possible_linebreaks((const uint8_t *)s, n, "UTF-8", w->breaks);
}

void wrap_end(struct wrap *w)
{
    free(w->breaks);
    w->breaks = NULL;
}

static size_t trim_spaces(const struct wrap *w, size_t start, size_t end)
{
    while (!w->verbatim && end > start && w->s[end - 1] == ' ')
        end--;
    return end;
}

/* Sets the piece of a full line to [w->at, end): end is the break, next the offset at which the next line begins. */
static void break_at(struct wrap *w, size_t end, struct wrap_piece *piece)
{
    piece->end = trim_spaces(w, piece->start, end);
    piece->next = end;
    piece->hard = false;
    piece->width = text_width(w->s + piece->start, piece->end - piece->start);
    w->at = end;
}

/* Ends the piece at a newline or the end of the text; spaces beyond the width hang. */
static bool end_hard(struct wrap *w, size_t end, size_t next, int width, struct wrap_piece *piece)
{
    piece->end = piece->start + text_fit(w->s + piece->start, end - piece->start, width, &piece->width);
    piece->next = w->at = next;
    piece->hard = true;
    w->done = next == end;
    return true;
}

bool wrap_next(struct wrap *w, int width, struct wrap_piece *piece)
{
    if (w->done)
        return false;
    if (width < 2)
        width = 2; /* a wide character must fit */
    *piece = (struct wrap_piece){.start = w->at};
    size_t possible = 0; /* the last possible break in this line, 0 = none yet */
    int column = 0, cell;
    for (size_t i = w->at; i < w->n;) {
        if (w->s[i] == '\n')
            return end_hard(w, i, i + 1, width, piece);
        if (i > w->at && w->breaks[i] == UC_BREAK_POSSIBLE)
            possible = i;
        size_t length = text_cell(w->s + i, w->n - i, &cell);
        bool hangs = w->s[i] == ' ' && !w->verbatim;
        if (column + cell > width && !hangs && i > w->at) {
            break_at(w, possible ? possible : i, piece);
            return true;
        }
        column += cell;
        i += length;
    }
    return end_hard(w, w->n, w->n, width, piece);
}

void flow_wrap(const struct flow *f, int width, bool verbatim, const char *margin, unsigned margin_style,
               struct lines *out)
{
    struct wrap w;
    struct wrap_piece piece;
    size_t margin_n = strlen(margin);
    int room = width - text_width(margin, margin_n);
    unsigned joins = 0;
    wrap_begin(&w, f->s ? f->s : "", f->n, verbatim);
    while (wrap_next(&w, room, &piece)) {
        lines_put(out, margin, margin_n, margin_style);
        lines_margin(out);
        flow_put(f, piece.start, piece.end, out);
        lines_end(out, piece.start < f->n ? f->src[piece.start] : f->n ? f->src[f->n - 1] + 1 : 0, joins);
        joins = piece.hard ? 0 : piece.next > piece.end ? 2 : 1;
    }
    wrap_end(&w);
}
