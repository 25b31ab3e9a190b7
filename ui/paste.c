/* paste.c - see paste.h */
#include "paste.h"

#include "screen.h"

enum paste_kind paste_take(struct paste *p, int key, bool alone, int64_t now_ms)
{
    if (key == KEYS_PASTE_BEGIN || key == KEYS_PASTE_END) {
        p->active = key == KEYS_PASTE_BEGIN;
        p->last_ms = now_ms;
        return PASTE_MARK;
    }
    if (p->active && alone && now_ms - p->last_ms >= PASTE_PAUSE_MS)
        p->active = false;
    p->last_ms = now_ms;
    return p->active ? PASTE_TEXT : PASTE_KEY;
}
