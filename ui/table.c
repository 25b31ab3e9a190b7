/* table.c - see table.h */
#include "table.h"

#include "../src/base/mem.h"
#include "text.h"

#include <stdlib.h>
#include <string.h>

#define SEPARATOR 3 /* " │ " */

struct flow *table_add(struct table *t)
{
    t->cells = mem_grow(t->cells, &t->cap_cells, t->n_cells + 1, sizeof *t->cells);
    t->cells[t->n_cells] = (struct flow){0};
    return &t->cells[t->n_cells++];
}

void table_free(struct table *t)
{
    for (size_t i = 0; i < t->n_cells; i++)
        flow_free(&t->cells[i]);
    free(t->cells);
    free(t->align);
    *t = (struct table){0};
}

void table_widths(const int *natural, size_t n, int width, int *out)
{
    int room = width - SEPARATOR * (int)(n ? n - 1 : 0), total = 0;
    for (size_t i = 0; i < n; i++)
        total += out[i] = natural[i] > 1 ? natural[i] : 1;
    while (total > room) {
        size_t widest = 0;
        for (size_t i = 1; i < n; i++)
            if (out[i] > out[widest])
                widest = i;
        if (out[widest] <= 2) /* a wide character must fit; drawing clips to the screen */
            break;
        out[widest]--;
        total--;
    }
}

/* A cell wrapped to the width of its column. */
struct wrapped {
    struct wrap_piece *v;
    size_t n, cap;
};

static void wrap_cell(const struct flow *f, int width, struct wrapped *out)
{
    struct wrap w;
    struct wrap_piece piece;
    wrap_begin(&w, f->s ? f->s : "", f->n, false);
    while (wrap_next(&w, width, &piece)) {
        out->v = mem_grow(out->v, &out->cap, out->n + 1, sizeof *out->v);
        out->v[out->n++] = piece;
    }
    wrap_end(&w);
}

static void put_spaces(struct lines *out, int n)
{
    static const char spaces[] = "                ";
    for (; n > 0; n -= (int)sizeof spaces - 1)
        lines_put(out, spaces, n < (int)sizeof spaces - 1 ? (size_t)n : sizeof spaces - 1, 0);
}

static void put_cell_line(const struct flow *f, const struct wrapped *w, size_t line, int width,
                          enum table_align align, bool last, struct lines *out)
{
    struct wrap_piece piece = {0};
    if (line < w->n)
        piece = w->v[line];
    int pad = width - piece.width;
    int before = align == TABLE_RIGHT ? pad : align == TABLE_CENTER ? pad / 2 : 0;
    put_spaces(out, before);
    flow_put(f, piece.start, piece.end, out);
    if (!last)
        put_spaces(out, pad - before);
}

static uint32_t row_src(const struct flow *cells, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (cells[i].n)
            return cells[i].src[0];
    return 0;
}

static void put_row(const struct table *t, const struct flow *cells, const int *widths, bool ascii,
                    void (*begin)(void *ctx), void *ctx, struct lines *out)
{
    struct wrapped *wrapped = mem_new(1, t->n_columns * sizeof *wrapped);
    size_t height = 1;
    for (size_t i = 0; i < t->n_columns; i++) {
        wrap_cell(&cells[i], widths[i], &wrapped[i]);
        height = wrapped[i].n > height ? wrapped[i].n : height;
    }
    for (size_t line = 0; line < height; line++) {
        begin(ctx);
        for (size_t i = 0; i < t->n_columns; i++) {
            if (i)
                lines_put(out, ascii ? " | " : " │ ", ascii ? 3 : 5, STYLE_DIM);
            put_cell_line(&cells[i], &wrapped[i], line, widths[i], t->align[i], i + 1 == t->n_columns, out);
        }
        lines_end(out, row_src(cells, t->n_columns), 0);
    }
    for (size_t i = 0; i < t->n_columns; i++)
        free(wrapped[i].v);
    free(wrapped);
}

static void put_rule(const struct table *t, const int *widths, bool ascii, struct lines *out)
{
    const char *dash = ascii ? "-" : "─", *cross = ascii ? "-+-" : "─┼─";
    for (size_t i = 0; i < t->n_columns; i++) {
        if (i)
            lines_put(out, cross, strlen(cross), STYLE_DIM);
        for (int k = 0; k < widths[i]; k++)
            lines_put(out, dash, strlen(dash), STYLE_DIM);
    }
}

void table_layout(const struct table *t, int width, bool ascii, void (*begin)(void *ctx), void *ctx,
                  struct lines *out)
{
    if (!t->n_columns)
        return;
    size_t rows = t->n_cells / t->n_columns;
    int *natural = mem_new(1, 2 * t->n_columns * sizeof *natural), *widths = natural + t->n_columns;
    for (size_t i = 0; i < rows * t->n_columns; i++) {
        int w = text_width(t->cells[i].s, t->cells[i].n), *column = &natural[i % t->n_columns];
        *column = w > *column ? w : *column;
    }
    table_widths(natural, t->n_columns, width, widths);
    for (size_t r = 0; r < rows; r++) {
        const struct flow *cells = t->cells + r * t->n_columns;
        put_row(t, cells, widths, ascii, begin, ctx, out);
        if (r)
            continue;
        begin(ctx);
        put_rule(t, widths, ascii, out);
        lines_end(out, row_src(cells, t->n_columns), 0);
    }
    free(natural);
}
