/*
 * table.h - lays out a table in aligned columns; each cell is a flow. Pure functions, no curses.
 */
#ifndef UI_TABLE_H
#define UI_TABLE_H

#include "lines.h"

#include <stdbool.h>
#include <stddef.h>

enum table_align { TABLE_LEFT, TABLE_CENTER, TABLE_RIGHT };

struct table {
    size_t n_columns;
    enum table_align *align; /* of each column */
    struct flow *cells;      /* row by row; the first row is the head */
    size_t n_cells, cap_cells;
};

struct flow *table_add(struct table *t); /* the next cell, empty, valid until the next call */
void table_free(struct table *t);

/* Computes column widths from the natural ones so that columns and separators (3 cells each) fit into width: shrinks
 * the widest columns first. */
void table_widths(const int *natural, size_t n, int width, int *out);

/* Lays out the table in width cells; calls begin at the start of every line, to put the margin. */
void table_layout(const struct table *t, int width, bool ascii, void (*begin)(void *ctx), void *ctx,
                  struct lines *out);

#endif
