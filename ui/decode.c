/* decode.c - see decode.h */
#include "decode.h"
#include "../src/base/mem.h"

#include <stdlib.h>
#include <string.h>
#include <unistr.h>

#define ESC 27
#define BEL 7
#define REPLACEMENT 0xfffd      /* in place of bytes that are no character */
#define INTRODUCER_MS 1000      /* ESC [ may be Alt-[, too */
#define BEGUN_MS 3000           /* ESC [ 2 is the beginning of a sequence */
#define AT_ONCE_MS 25           /* a byte that comes later after an Esc was typed by itself */
#define LATE_MS 1000            /* the rest of a sequence may come so long after its Esc was taken for the key */
#define UNCERTAIN_MAX 4096      /* bytes of what may be a string */
#define PRIVATE_USE_FIRST 57344 /* Kitty's functional keys are code points of the private use area */
#define PRIVATE_USE_LAST 63743
#define KITTY_KEYPAD_ENTER 57414

enum {                   /* as a key: */
       DISCARDED = -1,   /* the bytes mean nothing */
       NO_SEQUENCE = -2, /* the Esc begins no sequence: what follows it is decoded by itself */
};

/* Final byte of CSI and SS3 sequences. */
static const struct {
    char final;
    int key;
} finals[] = {
    {'A', KEYS_UP}, {'B', KEYS_DOWN},   {'C', KEYS_RIGHT},  {'D', KEYS_LEFT},   {'H', KEYS_HOME},    {'F', KEYS_END},
    {'P', KEYS_F1}, {'Q', KEYS_F1 + 1}, {'R', KEYS_F1 + 2}, {'S', KEYS_F1 + 3}, {'Z', KEYS_BACKTAB},
};

/* First parameter of CSI n ~ */
static const struct {
    int number, key;
} numbered[] = {
    {1, KEYS_HOME},          {2, KEYS_INSERT},      {3, KEYS_DELETE},  {4, KEYS_END},      {5, KEYS_PAGE_UP},
    {6, KEYS_PAGE_DOWN},     {7, KEYS_HOME},        {8, KEYS_END},     {11, KEYS_F1},      {12, KEYS_F1 + 1},
    {13, KEYS_F1 + 2},       {14, KEYS_F1 + 3},     {15, KEYS_F1 + 4}, {17, KEYS_F1 + 5},  {18, KEYS_F1 + 6},
    {19, KEYS_F1 + 7},       {20, KEYS_F1 + 8},     {21, KEYS_F1 + 9}, {23, KEYS_F1 + 10}, {24, KEYS_F1 + 11},
    {200, KEYS_PASTE_BEGIN}, {201, KEYS_PASTE_END},
};

#define COUNT(table) (sizeof table / sizeof *table)

/* What stands at the beginning of the bytes. */
struct parsed {
    size_t n; /* bytes it has; 0: it is not whole */
    int key;
    int wait_ms;  /* not whole: how long more bytes are waited for ... */
    int given_up; /* ... and what it is without them: KEYS_ESC or NO_SEQUENCE (the first byte), DISCARDED (all) */
    bool opens_string; /* the rest, up to the terminator, is discarded */
};

static struct parsed whole(size_t n, int key)
{
    return (struct parsed){.n = n, .key = key};
}

static struct parsed partial(int wait_ms, int given_up)
{
    return (struct parsed){.wait_ms = wait_ms, .given_up = given_up};
}

/* ---- what sequences mean ---- */

/* Shift changes no key of ours, but makes Enter a new line. */
int decode_modified(int key, int parameter)
{
    int bits = parameter > 1 ? parameter - 1 : 0;
    if (bits & 4)
        return key >= 'a' && key <= 'z' ? KEY_CTRL(key) : key > KEYS_SPECIAL ? key | KEYS_CONTROL : key;
    if ((bits & 2) || ((bits & 1) && key == KEYS_ENTER))
        return key | KEYS_ALT;
    return key;
}

/* X10's button number: 64 and 65 are the wheel; 4, 8 and 16 are modifiers. */
static int wheel(int button)
{
    button &= ~(4 | 8 | 16);
    return button == 64 ? KEYS_WHEEL_UP : button == 65 ? KEYS_WHEEL_DOWN : KEYS_UNKNOWN;
}

static int numbered_key(const int *parameters)
{
    if (parameters[0] == 27) /* xterm's modifyOtherKeys: 27 ; modifier ; character */
        return decode_modified(parameters[2], parameters[1]);
    for (size_t i = 0; i < COUNT(numbered); i++)
        if (numbered[i].number == parameters[0])
            return decode_modified(numbered[i].key, parameters[1]);
    return KEYS_UNKNOWN;
}

static int unicode_key(const int *parameters)
{
    bool functional = parameters[0] >= PRIVATE_USE_FIRST && parameters[0] <= PRIVATE_USE_LAST;
    int key = parameters[0] == KITTY_KEYPAD_ENTER ? KEYS_ENTER
              : parameters[0] == 127              ? KEYS_BACKSPACE
                                                  : parameters[0];
    return functional && key != KEYS_ENTER ? KEYS_UNKNOWN : decode_modified(key, parameters[1]);
}

static int sequence_key(const int *parameters, char prefix, char final)
{
    if (prefix)
        return prefix == '<' && final == 'M' ? wheel(parameters[0]) : KEYS_UNKNOWN;
    if (final == '~')
        return numbered_key(parameters);
    if (final == 'u')
        return unicode_key(parameters);
    for (size_t i = 0; i < COUNT(finals); i++)
        if (finals[i].final == final)
            return decode_modified(finals[i].key, parameters[1]);
    return KEYS_UNKNOWN;
}

/* ---- grammar ---- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* ESC [ or ESC O, parameters, intermediates, final byte (ECMA-48 5.4). */
static struct parsed parse_sequence(const char *s, size_t n)
{
    int parameters[3] = {0}, at = 0;
    char prefix = 0;
    bool sub = false, intermediate = false;
    for (size_t i = 2; i < n; i++) {
        char c = s[i];
        if (i == 2 && c >= '<' && c <= '?') {
            prefix = c;
        } else if (is_digit(c)) {
            if (!sub && at < 3 && parameters[at] < 100000)
                parameters[at] = parameters[at] * 10 + (c - '0');
        } else if (c == ';') {
            at += at < 3;
            sub = false;
        } else if (c == ':') {
            sub = true; /* sub-parameters refine the one before */
        } else if (c >= 0x20 && c <= 0x2f) {
            intermediate = true;
        } else if (c >= 0x40 && c <= 0x7e) {
            if (s[1] == 'O' && c == 'M')
                return whole(i + 1, KEYS_ENTER); /* of the keypad */
            return whole(i + 1, intermediate ? KEYS_UNKNOWN : sequence_key(parameters, prefix, c));
        } else { /* no part of a sequence */
            return i == 2 ? whole(1, NO_SEQUENCE) : whole(i, KEYS_UNKNOWN);
        }
    }
    return n == 2 ? partial(INTRODUCER_MS, NO_SEQUENCE) : partial(BEGUN_MS, DISCARDED);
}

static struct parsed parse_csi(const struct decoder *d, const char *s, size_t n)
{
    if (n > 2 && s[2] == '[') { /* F1 to F5 of the Linux console: ESC [ [ A */
        bool function = n > 3 && s[3] >= 'A' && s[3] <= 'E';
        return n == 3 ? partial(INTRODUCER_MS, NO_SEQUENCE)
                      : whole(4, function ? KEYS_F1 + s[3] - 'A' : KEYS_UNKNOWN);
    }
    if (n > 2 && s[2] == 'M' && d->x10_mouse)
        return n < 6 ? partial(BEGUN_MS, DISCARDED) : whole(6, wheel((unsigned char)s[3] - 32));
    return parse_sequence(s, n);
}

/* Whether the bytes after the introducer can only be the beginning of a terminal's reply: OSC a number and ';', DCS
 * parameters or intermediates and a final byte, APC Kitty's 'G'. */
static bool is_reply(const char *s, size_t n)
{
    size_t i = 2;
    switch (s[1]) {
    case ']':
        while (i < n && is_digit(s[i]))
            i++;
        return i > 2 && i < n && s[i] == ';';
    case 'P':
        while (i < n && s[i] >= 0x20 && s[i] <= 0x3f)
            i++;
        return i > 2 && i < n && s[i] >= 0x40 && s[i] <= 0x7e;
    case '_': return n > 2 && s[2] == 'G';
    default: return false;
    }
}

/* Whether the bytes after the introducer may still become what is_reply knows. */
static bool may_be_reply(const char *s, size_t n)
{
    size_t i = 2;
    while (i < n && (s[1] == ']' ? is_digit(s[i]) : s[1] == 'P' && s[i] >= 0x20 && s[i] <= 0x3f))
        i++;
    return i == n;
}

/* The length of the string's part of s up to its terminator, and with it; 0: the terminator is not there. broken: a byte
 * came that no string has, at the offset returned. */
static size_t string_end(const char *s, size_t n, bool *broken)
{
    *broken = false;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        if (c == BEL)
            return i + 1;
        if (c == 0xc2 && i + 1 < n && (unsigned char)s[i + 1] == 0x9c) /* U+009C, ST as one character */
            return i + 2;
        if (c == ESC && i + 1 == n)
            return 0;
        if (c == ESC && s[i + 1] == '\\')
            return i + 2;
        if (c < 0x20) {
            *broken = true;
            return i;
        }
    }
    return 0;
}

/* ESC ] P _ ^ X. Until it is certain to be a string its bytes are kept: Alt-] and text look alike at first. */
static struct parsed parse_string(const struct decoder *d, const char *s, size_t n)
{
    bool broken;
    if (is_reply(s, n)) {
        struct parsed p = whole(2, DISCARDED);
        p.opens_string = true;
        return p;
    }
    size_t end = string_end(s + 2, n - 2, &broken);
    if (end && !broken)
        return whole(2 + end, DISCARDED);
    bool typed = (d->gap_ms > AT_ONCE_MS || d->guessed) && !may_be_reply(s, n);
    if (broken || typed || n > UNCERTAIN_MAX)
        return whole(1, NO_SEQUENCE);
    return partial(INTRODUCER_MS, NO_SEQUENCE);
}

/* One character. Bytes that are none, as long as no longer sequence has them, are one U+FFFD. */
static struct parsed parse_character(const char *s, size_t n)
{
    ucs4_t c;
    if ((unsigned char)s[0] < 0x80)
        return whole(1, s[0]);
    for (size_t i = 1;; i++) {
        int length = u8_mbtoucr(&c, (const uint8_t *)s, i);
        if (length > 0)
            return whole((size_t)length, (int)c);
        if (length == -1)
            return whole(i > 1 ? i - 1 : 1, REPLACEMENT);
        if (i == n)
            return partial(0, 0); /* the rest comes, however late */
    }
}

static struct parsed parse_escape(const struct decoder *d, const char *s, size_t n);

/* Esc before a key's sequence is how some terminals send Alt. */
static struct parsed parse_two_escapes(const struct decoder *d, const char *s, size_t n)
{
    if (n > 2 && s[2] == ESC)
        return whole(1, KEYS_ESC);
    struct parsed p = parse_escape(d, s + 1, n - 1);
    if (!p.n)
        return partial(p.wait_ms, KEYS_ESC);
    bool special = p.n > 2 && ((p.key >= KEYS_BACKSPACE && p.key <= KEYS_INSERT) || p.key == KEYS_ENTER);
    return special ? whole(p.n + 1, p.key | KEYS_ALT) : whole(1, KEYS_ESC);
}

static struct parsed parse_defined(const struct decoder *d, const char *s, size_t n)
{
    struct parsed found = {0};
    bool begun = false;
    for (size_t i = 0; i < d->n_defined; i++) {
        const struct defined *f = &d->defined[i];
        if (f->n <= n && f->n > found.n && !memcmp(f->sequence, s, f->n))
            found = whole(f->n, f->key);
        begun |= f->n > n && !memcmp(f->sequence, s, n);
    }
    if (!found.n && begun && n > 1)
        return partial(INTRODUCER_MS, NO_SEQUENCE);
    return found;
}

static struct parsed parse_alt(const struct decoder *d, const char *s, size_t n)
{
    struct parsed p = parse_character(s + 1, n - 1);
    if (!p.n)
        return partial(BEGUN_MS, NO_SEQUENCE);
    if (d->is_bound && d->is_bound(p.key | KEYS_ALT) && !d->guessed)
        return whole(p.n + 1, p.key | KEYS_ALT);
    return whole(1, NO_SEQUENCE);
}

static struct parsed parse_escape(const struct decoder *d, const char *s, size_t n)
{
    if (n == 1)
        return partial(d->in_paste ? BEGUN_MS : d->escape_ms, KEYS_ESC);
    struct parsed p = parse_defined(d, s, n);
    if (p.n || p.wait_ms)
        return p;
    switch (s[1]) {
    case ESC: return parse_two_escapes(d, s, n);
    case '[': return parse_csi(d, s, n);
    case 'O': return parse_sequence(s, n);
    case ']':
    case 'P':
    case '_':
    case '^':
    case 'X': return parse_string(d, s, n);
    case 127:
    case 8: return whole(2, KEYS_ALT | KEYS_BACKSPACE);
    case '\r': return whole(2, KEYS_ALT | KEYS_ENTER);
    default: /* Esc, then a control key that came fast: Alt changes none of them */
        return (unsigned char)s[1] < 32 ? whole(1, KEYS_ESC) : parse_alt(d, s, n);
    }
}

/* ---- the decoder ---- */

void decoder_define(struct decoder *d, const char *sequence, int key)
{
    size_t n = strlen(sequence);
    if (n < 2 || sequence[0] != ESC)
        return;
    d->defined = mem_grow(d->defined, &d->cap_defined, d->n_defined + 1, sizeof *d->defined);
    d->defined[d->n_defined++] = (struct defined){mem_string_or_empty(sequence), n, key};
}

void decoder_free(struct decoder *d)
{
    for (size_t i = 0; i < d->n_defined; i++)
        free(d->defined[i].sequence);
    free(d->defined);
    buffer_free(&d->bytes);
    *d = (struct decoder){0};
}

/* Whether bytes look like the rest of a sequence whose Esc came by itself. */
static bool is_late_rest(const char *s, size_t n)
{
    return n > 1 && (strchr("[]P_^X", s[0]) || (s[0] == 'O' && n == 2 && strchr("ABCDFHMPQRS", s[1])));
}

void decoder_feed(struct decoder *d, const char *s, size_t n, int64_t now_ms)
{
    if (!n)
        return;
    buffer_remove(&d->bytes, 0, d->at);
    d->at = 0;
    if (d->in_string && n == 1 && now_ms - d->fed_ms >= BEGUN_MS)
        d->in_string = false; /* its terminator is lost, and a person types */
    if (d->bytes.len == 1 && d->bytes.s[0] == ESC)
        d->gap_ms = now_ms - d->fed_ms;
    if (!d->bytes.len && d->escape_at && now_ms - d->escape_at <= LATE_MS && is_late_rest(s, n)) {
        buffer_add(&d->bytes, "\033", 1);
        d->guessed = true;
    }
    d->escape_at = 0;
    buffer_add(&d->bytes, s, n);
    d->fed_ms = now_ms;
}

static struct parsed parse(const struct decoder *d, const char *s, size_t n)
{
    struct parsed p = s[0] == ESC ? parse_escape(d, s, n) : parse_character(s, n);
    if (d->guessed && !p.n)
        p.given_up = NO_SEQUENCE;
    bool is_private = n > 2 && s[2] >= '<' && s[2] <= '?';
    if (d->guessed && p.key == KEYS_UNKNOWN && !is_private)
        return whole(1, NO_SEQUENCE);
    return p;
}

/* Discards what has come of a string; an Esc at the end may begin its terminator, and is kept. */
static void skip_string(struct decoder *d, int64_t now_ms)
{
    const char *s = d->bytes.s + d->at;
    size_t n = d->bytes.len - d->at;
    bool broken;
    size_t end = string_end(s, n, &broken);
    if (end || broken) {
        d->at += end;
        d->in_string = false;
        return;
    }
    bool keep = s[n - 1] == ESC || (unsigned char)s[n - 1] == 0xc2;
    d->at += n - keep;
    if (keep && now_ms - d->fed_ms >= BEGUN_MS)
        d->in_string = false;
}

/* The key of what was parsed at the beginning of n bytes; gap_ms and guessed are of its Esc. */
static int key_of(struct decoder *d, const struct parsed *p, size_t n)
{
    bool guessed = d->guessed, apart = d->gap_ms > AT_ONCE_MS;
    d->guessed = false;
    d->gap_ms = 0;
    d->in_string = p->opens_string;
    switch (p->key) {
    case NO_SEQUENCE: return apart && !guessed && n > 1 ? KEYS_ESC : DISCARDED;
    case KEYS_PASTE_BEGIN:
    case KEYS_PASTE_END: d->in_paste = p->key == KEYS_PASTE_BEGIN; return p->key;
    case 127:
    case 8: return KEYS_BACKSPACE;
    case 0: return KEYS_UNKNOWN;
    default: return p->key;
    }
}

int decoder_next(struct decoder *d, int64_t now_ms)
{
    int key = DISCARDED;
    while (key == DISCARDED) {
        const char *s = d->bytes.s + d->at;
        size_t n = d->bytes.len - d->at;
        if (!n)
            return KEYS_NONE;
        if (d->in_string) {
            skip_string(d, now_ms);
            if (d->in_string)
                return KEYS_NONE;
            continue;
        }
        struct parsed p = parse(d, s, n);
        if (!p.n) {
            if (!p.wait_ms || now_ms - d->fed_ms < p.wait_ms)
                return KEYS_NONE;
            p = whole(p.given_up == DISCARDED ? n : 1, p.given_up);
            if (n == 1) {
                d->escape_at = now_ms;
                d->in_paste = false;
            }
        }
        d->at += p.n;
        key = key_of(d, &p, n);
    }
    return key;
}

int64_t decoder_due(const struct decoder *d)
{
    size_t n = d->bytes.len - d->at;
    if (!n)
        return 0;
    if (d->in_string)
        return d->fed_ms + BEGUN_MS;
    struct parsed p = parse(d, d->bytes.s + d->at, n);
    return p.n ? d->fed_ms : p.wait_ms ? d->fed_ms + p.wait_ms : 0;
}

void decode_text(const char *s, size_t n, struct buffer *out)
{
    struct decoder d = {.escape_ms = 1};
    decoder_feed(&d, s, n, 0);
    for (int key; (key = decoder_next(&d, INT64_MAX)) != KEYS_NONE;) {
        char bytes[4];
        key &= ~KEYS_ALT;
        if (key >= ' ' || key == '\n' || key == '\t' || key == '\r')
            if (key < 0x110000)
                buffer_add(out, bytes, (size_t)u8_uctomb((uint8_t *)bytes, (ucs4_t)key, sizeof bytes));
    }
    buffer_add(out, d.bytes.s + d.at, d.bytes.len - d.at); /* a character cut short */
    decoder_free(&d);
}
