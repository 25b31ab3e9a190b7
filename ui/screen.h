/*
 * screen.h - curses: taking the terminal, drawing styled text, reading keys. Only screen.c and keys.c include it.
 *
 * There is one terminal, so the state is global. Drawing writes to the buffer of curses; screen_end sends the
 * difference to the terminal.
 */
#ifndef UI_SCREEN_H
#define UI_SCREEN_H

#include "keycodes.h"
#include "lines.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A part of the screen, in rows and cells. */
struct rect {
    int y, x, height, width;
};
struct rect rect_below(struct rect r, int rows); /* r without its first rows */

/* Cursor position: where typed text goes, or the row that keys act on, which screen readers follow. */
struct caret {
    int y, x;
    bool visible;
};

bool screen_open(char *err, size_t cap);
void screen_close(void);

int screen_rows(void);
int screen_columns(void);

void screen_begin(void); /* clears the buffer */
/* Draws clean text in at most width cells; returns the number of cells drawn. Clips to the screen. */
int screen_text(int y, int x, int width, const char *s, size_t n, unsigned style);
int screen_line(int y, int x, int width, const struct lines *l, const struct line *line, unsigned extra_style);
void screen_fill(int y, int x, int width, const char *character, unsigned style);
void screen_end(struct caret caret); /* sends it */

void screen_redraw(void);                  /* repaints everything at the next screen_end */
void screen_resized(void);                 /* reads the current size of the terminal */
void screen_modes(bool mouse);             /* sends the terminal modes again: after SIGCONT, or when mouse changes */
void screen_leave(void);                   /* gives the terminal to another program ... */
void screen_return(bool mouse);            /* ... and takes it back */
void screen_send(const char *s, size_t n); /* an escape sequence that changes nothing on the screen */

/* keys.c */
void keys_init(void);
void keys_take_over(void); /* marks pending input as typed while the terminal was in another mode */
bool keys_fill(void);      /* reads pending input without waiting; false: there was none */
int keys_next(void);       /* next key of the input read; KEYS_NONE: none is complete */
int64_t keys_due(void);    /* time at which the next key is complete without another byte (a lone Esc); 0 = never */

#endif
