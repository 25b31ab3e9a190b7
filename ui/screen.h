/*
 * screen.h - curses: taking the terminal, drawing styled text, reading keys. Only screen.c and keys.c include it.
 *
 * There is one terminal, so there are no objects. Drawing goes into curses' own copy of the screen, which sends only
 * what differs; nothing is sent before screen_end.
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
struct rect rect_below(struct rect r, int rows); /* without its first rows */

/* Where the cursor stands: where typed text goes, or at the row that keys act on, which screen readers read. */
struct caret {
    int y, x;
    bool visible;
};

bool screen_open(char *err, size_t cap);
void screen_close(void);

int screen_rows(void);
int screen_columns(void);

void screen_begin(void); /* an empty screen */
/* Draws clean text, at most width cells; returns the cells drawn. Nothing is drawn outside the screen. */
int screen_text(int y, int x, int width, const char *s, size_t n, unsigned style);
int screen_line(int y, int x, int width, const struct lines *l, const struct line *line, unsigned extra_style);
void screen_fill(int y, int x, int width, const char *character, unsigned style);
void screen_end(struct caret caret); /* sends it */

void screen_redraw(void);                  /* all of it anew, next time */
void screen_resized(void);                 /* takes the terminal's present size */
void screen_modes(bool mouse);             /* sends the modes again: after SIGCONT, or when the mouse changes */
void screen_leave(void);                   /* the terminal is another program's ... */
void screen_return(bool mouse);            /* ... and ours again */
void screen_send(const char *s, size_t n); /* an escape sequence that changes nothing on the screen */

/* keys.c */
void keys_init(void);
void keys_take_over(void); /* what waits to be read was typed while the terminal was in another mode */
bool keys_fill(void);      /* reads what has come; false: nothing had. Never waits. */
int keys_next(void);       /* the next key of what was read, KEYS_NONE: none is complete */
int64_t keys_due(void);    /* when the next key is complete although no byte comes (a lone Esc); 0 = never */

#endif
