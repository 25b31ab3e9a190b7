/*
 * decode.h - decodes the bytes a terminal sends into keys. Pure: no terminal, no clock, nothing waits.
 *
 *     decoder_define(&d, "\033OA", KEYS_UP);          // sequences of the terminal's description
 *     decoder_feed(&d, bytes, n, now);                // bytes as they are read
 *     while ((key = decoder_next(&d, now)) != KEYS_NONE)
 *         ...
 *     decoder_due(&d);                                // when to call decoder_next again although no byte came
 *     decoder_free(&d);
 *
 * Esc begins a sequence or is the key itself, so the bytes after it decide, or the time that passes without any:
 *
 *     ESC                            the key after `escape_ms`
 *     ESC [ parameters final         CSI: a key, a paste mark, a mouse event, or an unknown sequence
 *     ESC O final                    SS3: a key
 *     ESC ] P _ ^ X ... BEL or ST    a string (OSC, DCS, APC, PM, SOS), the terminal's reply to a query: discarded
 *     ESC character                  Alt with that character, where is_bound knows that key; else the character
 *
 * A sequence that has begun waits much longer than a lone Esc: its bytes may arrive apart. An unknown sequence is
 * discarded whole; bytes that turn out to be no sequence are characters again, without the Esc before them.
 */
#ifndef UI_DECODE_H
#define UI_DECODE_H

#include "../src/base/buffer.h"
#include "keycodes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct decoder {
    int escape_ms;             /* how long a lone Esc waits for the rest of a sequence */
    bool x10_mouse;            /* mouse events are ESC [ M and three bytes */
    bool (*is_bound)(int key); /* whether an Alt key has a meaning; NULL: none has */

    struct buffer bytes; /* fed; those before `at` are decoded */
    size_t at;
    int64_t fed_ms;    /* when the last of them came */
    int64_t gap_ms;    /* between an Esc and the byte after it, where they came in two feeds */
    bool guessed;      /* the Esc at `at` was not fed: an earlier one, taken for the key, may have been it */
    int64_t escape_at; /* when an Esc was taken for the key because nothing followed; 0 = something did since */
    bool in_string;    /* within a string, until its terminator */
    bool in_paste;     /* between the paste marks */

    struct defined {
        char *sequence;
        size_t n;
        int key;
    } * defined;
    size_t n_defined, cap_defined;
};

/* Adds a sequence of two bytes or more that begins with ESC; others are ignored. */
void decoder_define(struct decoder *d, const char *sequence, int key);
void decoder_free(struct decoder *d);

void decoder_feed(struct decoder *d, const char *s, size_t n, int64_t now_ms);
/* The next key. KEYS_NONE: none is complete. KEYS_UNKNOWN: a sequence or a byte without a meaning. */
int decoder_next(struct decoder *d, int64_t now_ms);
int64_t decoder_due(const struct decoder *d); /* 0 = not before more bytes */

/* The key with xterm's modifier parameter: 1 + (1 Shift, 2 Alt, 4 Control). */
int decode_modified(int key, int parameter);

/* Appends the text of s without any escape sequence to out: what the draft would get of these bytes. */
void decode_text(const char *s, size_t n, struct buffer *out);

#endif
