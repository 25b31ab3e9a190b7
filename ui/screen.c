/* screen.c - see screen.h */
#include "screen.h"

#include "../src/base/buffer.h"
#include "text.h"
#include "tty.h"

#include <curses.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <term.h>
#undef lines /* macros of <term.h> */
#undef columns

#define PASTE_ON "\033[?2004h"
#define PASTE_OFF "\033[?2004l"
#define MOUSE_OFF "\033[?1006l\033[?1002l\033[?1000l"

#ifdef A_ITALIC
#define ITALIC A_ITALIC
#else
#define ITALIC A_NORMAL
#endif

static bool open_now, colours;

/* ---- styles ---- */

#define DEFAULT (-1) /* the terminal's own colour */

/* How each colour role looks. Text colours have a contrast of at least 3 to black and to white (WCAG 2.1, 1.4.3, large
 * text), since the background is the terminal's own: 256 colours are the fixed ones of xterm's palette; of the 8 whose
 * shade the terminal chooses, only red and magenta reach it with xterm's shades. `without`: attributes on a screen
 * without colour. */
// clang-format off
static const struct {
    enum style role;
    short foreground_256, foreground_8, background;
    attr_t with_colour, without;
} looks[] = {
    {STYLE_CODE,          30,  COLOR_MAGENTA, DEFAULT,      0,      0},
    {STYLE_HEADING,       133, COLOR_MAGENTA, DEFAULT,      0,      A_UNDERLINE},
    {STYLE_QUOTE,         28,  COLOR_MAGENTA, DEFAULT,      0,      0},
    {STYLE_PERSON,        30,  COLOR_MAGENTA, DEFAULT,      A_BOLD, A_BOLD},
    {STYLE_MODEL,         28,  DEFAULT,       DEFAULT,      A_BOLD, A_BOLD},
    {STYLE_NOTICE,        130, COLOR_MAGENTA, DEFAULT,      0,      ITALIC},
    {STYLE_WARNING,       160, COLOR_RED,     DEFAULT,      A_BOLD, A_BOLD},
    {STYLE_MATCH,         COLOR_BLACK, COLOR_BLACK, COLOR_YELLOW, 0, A_REVERSE},
    {STYLE_CURRENT_MATCH, COLOR_BLACK, COLOR_BLACK, COLOR_GREEN,  A_BOLD, A_REVERSE | A_BOLD},
};
// clang-format on

static const struct {
    enum style style;
    attr_t attribute;
} attributes[] = {
    {STYLE_BOLD, A_BOLD}, {STYLE_UNDERLINE, A_UNDERLINE}, {STYLE_REVERSE, A_REVERSE},
    {STYLE_DIM, A_DIM},   {STYLE_STRIKE, A_DIM},          {STYLE_ITALIC, ITALIC},
};

static void init_colours(void)
{
    const char *no_colour = getenv("NO_COLOR"); /* no-color.org: set and not empty */
    if ((no_colour && *no_colour) || !has_colors() || start_color() == ERR || use_default_colors() == ERR)
        return;
    colours = true;
    for (size_t i = 0; i < sizeof looks / sizeof *looks; i++)
        init_pair((short)(looks[i].role >> 8), COLORS >= 256 ? looks[i].foreground_256 : looks[i].foreground_8,
                  looks[i].background);
}

static void set_style(unsigned style)
{
    attr_t attr = A_NORMAL;
    short pair = 0;
    for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++)
        if (style & (unsigned)attributes[i].style)
            attr |= attributes[i].attribute;
    for (size_t i = 0; i < sizeof looks / sizeof *looks; i++)
        if ((style & STYLE_ROLE) == (unsigned)looks[i].role) {
            attr |= colours ? looks[i].with_colour : looks[i].without;
            pair = colours ? (short)(looks[i].role >> 8) : 0;
        }
    attr_set(attr, pair, NULL);
}

/* ---- opening and closing ---- */

/* Appends a capability without its padding, which only old hardware needs. */
static void add_capability(struct buffer *b, const char *name)
{
    const char *s = tigetstr(name);
    if (!s || s == (char *)-1)
        return;
    while (*s) {
        if (s[0] == '$' && s[1] == '<' && strchr(s, '>'))
            s = strchr(s, '>') + 1;
        else
            buffer_add(b, s++, 1);
    }
}

static void arm_restore(void)
{
    static const char *const capabilities[] = {"rmkx", "sgr0", "op", "cnorm", "rmcup"};
    struct buffer b = BUFFER_INIT;
    buffer_puts(&b, PASTE_OFF MOUSE_OFF);
    for (size_t i = 0; i < sizeof capabilities / sizeof *capabilities; i++)
        add_capability(&b, capabilities[i]);
    buffer_puts(&b, "\r");
    tty_set_restore(b.s);
    buffer_free(&b);
}

bool screen_open(char *err, size_t cap)
{
    const char *term = getenv("TERM");
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
        snprintf(err, cap, "no terminal here: use -p \"question\", or CHINWAG_PLAIN=1");
        return false;
    }
    if (!tty_locale()) {
        snprintf(err, cap, "no UTF-8 locale: set LANG, for instance to C.UTF-8");
        return false;
    }
    int error;
    if (setupterm(NULL, STDOUT_FILENO, &error) == ERR) {
        snprintf(err, cap, "terminal type \"%s\" is unknown: set TERM, for instance to xterm, or CHINWAG_PLAIN=1",
                 term ? term : "");
        return false;
    }
    del_curterm(cur_term); /* initscr, which ends the program over an unknown type, makes its own */
    tty_save();
    use_tioctl(TRUE);
    initscr();
    arm_restore();
    raw();
    noecho();
    nonl();
    keypad(stdscr, TRUE);
    typeahead(-1); /* a frame is drawn whole even while keys wait */
    scrollok(stdscr, FALSE);
    leaveok(stdscr, FALSE);
    mouseinterval(0);
    init_colours();
    keys_init();
    keys_take_over();
    open_now = true;
    return true;
}

void screen_close(void)
{
    if (!open_now)
        return;
    open_now = false;
    screen_leave();
    tty_forget();
}

void screen_modes(bool mouse)
{
    mousemask(0, NULL);
    if (mouse)
        mousemask(BUTTON4_PRESSED | BUTTON5_PRESSED, NULL);
    tty_write(PASTE_ON, strlen(PASTE_ON));
}

void screen_leave(void)
{
    mousemask(0, NULL);
    tty_write(PASTE_OFF, strlen(PASTE_OFF));
    endwin();
}

void screen_return(bool mouse)
{
    reset_prog_mode();
    keys_take_over();
    screen_resized();
    clearok(curscr, TRUE);
    refresh();
    screen_modes(mouse);
}

/* ---- drawing ---- */

int screen_rows(void)
{
    return LINES;
}

int screen_columns(void)
{
    return COLS;
}

void screen_begin(void)
{
    attr_set(A_NORMAL, 0, NULL);
    erase();
}

int screen_text(int y, int x, int width, const char *s, size_t n, unsigned style)
{
    int used = 0;
    if (y < 0 || y >= LINES || x < 0 || x >= COLS)
        return 0;
    if (width > COLS - x)
        width = COLS - x;
    size_t fit = text_fit(s, n, width, &used);
    if (!fit)
        return 0;
    set_style(style);
    mvaddnstr(y, x, s, (int)fit);
    return used;
}

int screen_line(int y, int x, int width, const struct lines *l, const struct line *line, unsigned extra_style)
{
    int used = 0;
    for (size_t i = 0; i < line->n_spans && used < width; i++) {
        const struct text_run *s = &l->spans[line->span + i];
        used += screen_text(y, x + used, width - used, l->text + s->start, s->len, s->style | extra_style);
    }
    return used;
}

void screen_fill(int y, int x, int width, const char *character, unsigned style)
{
    for (int i = 0; i < width; i++)
        screen_text(y, x + i, 1, character, strlen(character), style);
}

struct rect rect_below(struct rect r, int rows)
{
    return (struct rect){r.y + rows, r.x, r.height - rows, r.width};
}

void screen_end(struct caret caret)
{
    curs_set(caret.visible ? 1 : 0);
    move(caret.y < LINES ? caret.y : LINES - 1, caret.x < COLS ? caret.x : COLS - 1);
    wnoutrefresh(stdscr);
    doupdate();
}

void screen_redraw(void)
{
    clearok(curscr, TRUE);
}

void screen_resized(void)
{
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row && size.ws_col &&
        (size.ws_row != LINES || size.ws_col != COLS))
        resizeterm(size.ws_row, size.ws_col);
}

void screen_send(const char *s, size_t n)
{
    tty_write(s, n);
}
