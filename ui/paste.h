/*
 * paste.h - tells pasted text from typed keys. Pure.
 *
 * Between the terminal's two marks (bracketed paste) everything is text. The end mark may be lost (a dropped
 * connection, a multiplexer that cuts): a paste without it ends when, after a pause, a key comes alone. Text arrives
 * in lumps, a person types one key at a time.
 *
 * Where the terminal sends no marks, several lines in one reading are a paste: what a person typed so fast would be
 * Enter after one line, and nothing after it.
 */
#ifndef UI_PASTE_H
#define UI_PASTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PASTE_PAUSE_MS 300
#define PASTE_CONTINUES_MS 30 /* between two readings of one paste without marks */

struct paste {
    bool active;         /* after the begin mark */
    int64_t last_ms;     /* when its last key came */
    int64_t unmarked_ms; /* when the last text of a paste without marks came; 0 = never */
};

enum paste_kind { PASTE_KEY, PASTE_TEXT, PASTE_MARK };

/* What a key is. alone: nothing else was there to be read with it. */
enum paste_kind paste_take(struct paste *p, int key, bool alone, int64_t now_ms);

/* How many keys at the beginning of keys are text of a paste without marks. first: a reading begins with them. */
size_t paste_unmarked(struct paste *p, const int *keys, size_t n, bool first, int64_t now_ms);

#endif
