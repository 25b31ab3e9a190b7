/* paste.c - see paste.h */
#include "paste.h"

#include "keycodes.h"

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

static bool is_line_end(int key)
{
    return key == KEYS_ENTER || key == KEY_CTRL('J');
}

static bool is_text(int key)
{
    return is_line_end(key) || key == KEYS_TAB || (key >= ' ' && key < 0x110000);
}

/* Whether text follows an Enter that follows text. */
static bool has_lines(const int *keys, size_t n)
{
    bool text = false, ended = false;
    for (size_t i = 0; i < n; i++) {
        if (is_line_end(keys[i]))
            ended |= text && keys[i] == KEYS_ENTER;
        else if (ended)
            return true;
        else
            text = true;
    }
    return false;
}

size_t paste_unmarked(struct paste *p, const int *keys, size_t n, bool first, int64_t now_ms)
{
    size_t text = 0;
    bool continues = p->unmarked_ms && now_ms - p->unmarked_ms <= PASTE_CONTINUES_MS;
    if (p->active || !(continues || first))
        return 0;
    while (text < n && is_text(keys[text]))
        text++;
    if (!text || !(continues || has_lines(keys, text)))
        return 0;
    p->unmarked_ms = now_ms;
    return text;
}
