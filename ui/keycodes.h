/*
 * keycodes.h - keys as numbers of our own, so that tables and tests need no curses.
 *
 * A character is its code point; a control key is KEY_CTRL of its letter; the rest are named here. Modifiers are
 * bits.
 */
#ifndef UI_KEYCODES_H
#define UI_KEYCODES_H

#include <stdbool.h>

#define KEY_CTRL(letter) ((letter)&0x1f)

enum {
    KEYS_NONE = 0,
    KEYS_TAB = 9,
    KEYS_ENTER = 13,
    KEYS_ESC = 27,

    KEYS_SPECIAL = 0x200000, /* beyond Unicode */
    KEYS_BACKSPACE,
    KEYS_DELETE,
    KEYS_UP,
    KEYS_DOWN,
    KEYS_LEFT,
    KEYS_RIGHT,
    KEYS_HOME,
    KEYS_END,
    KEYS_PAGE_UP,
    KEYS_PAGE_DOWN,
    KEYS_INSERT,
    KEYS_BACKTAB,
    KEYS_WHEEL_UP,
    KEYS_WHEEL_DOWN,
    KEYS_RESIZE,
    KEYS_F1 = KEYS_SPECIAL + 0x100, /* to F12 in order */
    KEYS_PASTE_BEGIN = KEYS_SPECIAL + 0x200,
    KEYS_PASTE_END,
    KEYS_UNKNOWN, /* a sequence or a byte without a meaning */

    KEYS_ALT = 0x1000000,
    KEYS_CONTROL = 0x2000000, /* with a special key */
    KEYS_SHIFT = 0x4000000,
};

/* A character that can be seen: no control, no blank, no key of ours. */
static inline bool key_is_printable(int key)
{
    return key > ' ' && key < 0x110000;
}

#endif
