/*
 * tty.h - the terminal as the kernel sees it: signals turned into flags, and giving it back whatever happens. No
 * curses.
 *
 * Signal handlers only set a flag and write to a pipe that tty_fd watches beside the keyboard, so none is lost
 * between looking and sleeping. Fatal signals restore the terminal, then take their default action. They must not be
 * blocked in any thread for that.
 */
#ifndef UI_TTY_H
#define UI_TTY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tty_signal {
    TTY_QUIT = 1 << 0,      /* SIGTERM, SIGHUP */
    TTY_INTERRUPT = 1 << 1, /* SIGINT */
    TTY_CONTINUED = 1 << 2, /* SIGCONT */
    TTY_SUSPEND = 1 << 3,   /* SIGTSTP */
    TTY_RESIZED = 1 << 4,   /* SIGWINCH */
    TTY_CHILD = 1 << 5,     /* SIGCHLD: wakes, no more */
};

/* Takes the person's locale, or a UTF-8 one where theirs is not (over ssh the language is often unset). Numbers stay
 * as C writes them: files and commands are read with the same functions. False: there is no UTF-8 locale. */
bool tty_locale(void);

/* Remembers the terminal's modes and what is to be sent to leave ours; call before and after they are set. */
void tty_save(void);
void tty_set_restore(const char *sequence);
/* Puts modes and screen back at once, from any state, from a signal handler too. Does nothing when nothing was saved.
 * */
void tty_restore(void);
void tty_forget(void); /* the terminal is back in its own modes: nothing is to be restored */

/* Installs the handlers (after initscr, which installs its own) / puts back what was there before. plain: job control
 * and resizing are left to the system. */
void tty_signals(bool plain);
void tty_signals_end(void);
unsigned tty_take(void);         /* the signals since the last call */
void tty_discard(unsigned bits); /* those of these that have come are not reported */

int tty_fd(void);                        /* readable on keys and signals; on systems without epoll, on keys alone */
void tty_listen(bool keys);              /* whether keys wake; off while another program has the terminal */
bool tty_hung_up(void);                  /* nobody is at the other end any more */
void tty_write(const char *s, size_t n); /* to the terminal, all of it */
void tty_stop(void);                     /* SIGTSTP's default for the whole job; returns when continued */

#endif
