/*
 * clipboard.h - ways to the clipboard of the person's terminal. No curses.
 *
 * A terminal takes text by the escape sequence OSC 52 (xterm's "Operating System Commands") and does not answer, so
 * nobody knows whether it was accepted. tmux ignores the sequence by default, but `tmux load-buffer -w` keeps the text
 * in a buffer of its own and sends OSC 52 to its terminal. GNU screen passes on what comes in a DCS string.
 */
#ifndef UI_CLIPBOARD_H
#define UI_CLIPBOARD_H

#include "../src/base/buffer.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum clipboard_way { CLIPBOARD_TERMINAL, CLIPBOARD_SCREEN, CLIPBOARD_TMUX };

/* Bytes of text that become 100,000 bytes of base64: the limit of several terminals, which drop a longer OSC 52. */
#define CLIPBOARD_SURE_BYTES 74994

enum clipboard_way clipboard_way(void); /* from $TMUX and $STY */

/* Appends the sequence that copies s. screen: in DCS strings short enough for GNU screen. */
void clipboard_osc52(const char *s, size_t n, bool screen, struct buffer *out);

/* A tmux command that reads text. Zeroed: none runs. */
struct clipboard_transfer {
    pid_t pid;        /* 0 = none */
    int file;         /* holds the text */
    bool buffer_only; /* without -w, for tmux before 3.2 */
};

enum clipboard_state {
    CLIPBOARD_RUNNING,
    CLIPBOARD_SENT,   /* tmux has it and has sent it to its terminal */
    CLIPBOARD_BUFFER, /* tmux has it */
    CLIPBOARD_FAILED,
};

/* Starts `tmux load-buffer` without waiting for it; kills a transfer that still runs. False: it could not be started. */
bool clipboard_begin(struct clipboard_transfer *t, const char *s, size_t n);
/* Looks whether it has ended; call after SIGCHLD while t->pid. */
enum clipboard_state clipboard_poll(struct clipboard_transfer *t);
/* Lets a running transfer finish by itself, and forgets it. */
void clipboard_abandon(struct clipboard_transfer *t);

#endif
