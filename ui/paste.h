/*
 * paste.h - which keys are a paste. Pure.
 *
 * Between the terminal's two marks everything is text. The end mark can be lost (a dropped connection, a multiplexer
 * that cuts); then neither may the keyboard be dead, nor what remains of the paste be taken for keys, Enter among
 * them. So a paste without an end mark is over when, after a pause, a key comes alone: text arrives in lumps, a
 * person types one key at a time.
 */
#ifndef UI_PASTE_H
#define UI_PASTE_H

#include <stdbool.h>
#include <stdint.h>

#define PASTE_PAUSE_MS 300

struct paste {
    bool active;
    int64_t last_ms; /* when its last key came */
};

enum paste_kind { PASTE_KEY, PASTE_TEXT, PASTE_MARK };

/* What a key is. alone: nothing else was there to be read with it. */
enum paste_kind paste_take(struct paste *p, int key, bool alone, int64_t now_ms);

#endif
