/* text.c - see text.h */
#include "text.h"

#include "../src/base/buffer.h"
#include "../src/base/fold.h"
#include "../src/base/mem.h"

#include <stdlib.h>
#include <string.h>
#include <unictype.h>
#include <unigbrk.h>
#include <unistr.h>
#include <uniwbrk.h>
#include <wchar.h>
#include <wctype.h>

#define REPLACEMENT 0xfffdu
#define DOTTED_CIRCLE 0x25ccu
#define TAB_STOP 4
#define CELL_MARKS 4 /* combining characters a cchar_t holds beside the base, CCHARW_MAX - 1 */

static const uint8_t *u8(const char *s)
{
    return (const uint8_t *)s;
}

size_t text_decode(const char *s, size_t n, uint32_t *cp)
{
    ucs4_t c;
    int length = u8_mbtouc(&c, u8(s), n);
    *cp = c;
    return length > 0 ? (size_t)length : 1;
}

size_t text_encode(uint32_t cp, char out[4])
{
    int n = u8_uctomb((uint8_t *)out, cp, 4);
    if (n <= 0)
        n = u8_uctomb((uint8_t *)out, REPLACEMENT, 4);
    return (size_t)n;
}

/* ---- cleaning ---- */

struct cleaner {
    struct buffer text;
    uint32_t *origin;
    size_t origin_cap;
    int column;      /* of the line, for tabs */
    int marks;       /* on the present cell; -1: there is no cell they could stand on */
    bool emoji_base; /* the last code point may carry a skin tone */
};

static void put(struct cleaner *c, uint32_t cp, size_t origin)
{
    char bytes[4] = {(char)cp};
    size_t n = cp < 0x80 ? 1 : text_encode(cp, bytes);
    c->origin = mem_grow(c->origin, &c->origin_cap, c->text.len + n + 1, sizeof *c->origin);
    for (size_t i = 0; i < n; i++)
        c->origin[c->text.len + i] = (uint32_t)origin;
    buffer_add(&c->text, bytes, n);
}

static void put_newline(struct cleaner *c, size_t origin)
{
    put(c, '\n', origin);
    c->column = 0;
    c->marks = -1;
}

/* Invisible code points that terminals and wcwidth disagree on, or that reorder text. */
static bool is_dropped(uint32_t cp, bool emoji_base)
{
    if ((cp >= 0xfe00 && cp <= 0xfe0f) || (cp >= 0xe0100 && cp <= 0xe01ef) || cp == 0xad)
        return true;
    if (cp >= 0x1f3fb && cp <= 0x1f3ff && emoji_base)
        return true;
    /* Format characters with a shape of their own (Arabic number signs) have a width and stay. */
    return uc_is_general_category(cp, UC_FORMAT) && wcwidth((wchar_t)cp) <= 0;
}

static uint32_t visible(uint32_t cp)
{
    if (cp < 0x20)
        return 0x2400 + cp;
    if (cp == 0x7f)
        return 0x2421;
    return wcwidth((wchar_t)cp) < 0 ? REPLACEMENT : cp;
}

static bool is_plain(unsigned char c)
{
    return c >= 0x20 && c < 0x7f;
}

static void put_character(struct cleaner *c, uint32_t cp, size_t origin)
{
    if (cp < 0x80 && is_plain((unsigned char)cp)) { /* nearly all there is */
        put(c, cp, origin);
        c->column++;
        c->marks = 0;
        c->emoji_base = false;
        return;
    }
    if (is_dropped(cp, c->emoji_base))
        return;
    c->emoji_base = uc_is_property_emoji_modifier_base(cp);
    cp = visible(cp);
    int width = wcwidth((wchar_t)cp);
    if (width > 0) {
        put(c, cp, origin);
        c->column += width;
        c->marks = 0;
        return;
    }
    if (c->marks < 0) {
        put(c, DOTTED_CIRCLE, origin);
        c->column++;
        c->marks = 0;
    }
    if (c->marks++ < CELL_MARKS)
        put(c, cp, origin);
}

void text_clean(const char *s, size_t n, struct cleaned *out)
{
    struct cleaner c = {.text = BUFFER_INIT, .marks = -1};
    for (size_t i = 0; i < n;) {
        uint32_t cp;
        size_t length = text_decode(s + i, n - i, &cp);
        if (cp == '\r' && i + 1 < n && s[i + 1] == '\n')
            ; /* the newline follows */
        else if (cp == '\n' || cp == 0x2028 || cp == 0x2029)
            put_newline(&c, i);
        else if (cp == '\t')
            do
                put_character(&c, ' ', i);
            while (c.column % TAB_STOP);
        else
            put_character(&c, cp, i);
        i += length;
    }
    c.origin = mem_grow(c.origin, &c.origin_cap, c.text.len + 1, sizeof *c.origin);
    c.origin[c.text.len] = (uint32_t)n;
    size_t len = c.text.len;
    *out = (struct cleaned){buffer_take(&c.text), c.origin, len};
}

void cleaned_free(struct cleaned *c)
{
    free(c->s);
    free(c->origin);
    *c = (struct cleaned){0};
}

char *text_clean_string(const char *s, size_t n, bool one_line)
{
    struct cleaned c;
    text_clean(s, n, &c);
    for (size_t i = 0; one_line && i < c.n; i++)
        if (c.s[i] == '\n')
            c.s[i] = ' ';
    free(c.origin);
    return c.s;
}

/* ---- width ---- */

int text_width(const char *s, size_t n)
{
    int width = 0;
    for (size_t i = 0; i < n;) {
        uint32_t cp;
        i += text_decode(s + i, n - i, &cp);
        int w = wcwidth((wchar_t)cp);
        width += w > 0 ? w : 0;
    }
    return width;
}

size_t text_cell(const char *s, size_t n, int *width)
{
    uint32_t cp;
    if (is_plain((unsigned char)s[0]) && (n == 1 || is_plain((unsigned char)s[1]))) {
        *width = 1;
        return 1;
    }
    size_t end = text_decode(s, n, &cp);
    int w = wcwidth((wchar_t)cp);
    *width = w > 0 ? w : 0;
    while (end < n) {
        size_t length = text_decode(s + end, n - end, &cp);
        if (cp == '\n' || wcwidth((wchar_t)cp) != 0)
            break;
        end += length;
    }
    return end;
}

size_t text_fit(const char *s, size_t n, int width, int *used)
{
    size_t i = 0;
    int total = 0, cell;
    while (i < n) {
        size_t length = text_cell(s + i, n - i, &cell);
        if (total + cell > width)
            break;
        total += cell;
        i += length;
    }
    if (used)
        *used = total;
    return i;
}

int text_ellipsis(const char *s, int width, char *out, size_t cap)
{
    static const char dots[] = "…";
    size_t n = strlen(s);
    int used = 0;
    size_t fit = text_fit(s, n, width, &used);
    bool cut = fit < n;
    if (cut)
        fit = text_fit(s, n, width > 0 ? width - 1 : 0, &used);
    while (fit + sizeof dots > cap && fit) /* cap is met by shedding whole characters */
        fit = text_prev(s, n, fit), cut = true;
    used = text_width(s, fit);
    if (fit)
        memcpy(out, s, fit);
    out[fit] = 0;
    if (cut && width > 0 && fit + sizeof dots <= cap) {
        strcpy(out + fit, dots);
        used++;
    }
    return used;
}

/* ---- characters and words ---- */

size_t text_words(const char *s, size_t n)
{
    size_t words = 0;
    bool within = false;
    for (size_t i = 0; i < n;) {
        uint32_t cp;
        i += text_decode(s + i, n - i, &cp);
        bool kana = cp >= 0x3041 && cp <= 0x30ff;
        if (kana || uc_is_property_ideographic(cp)) {
            words++;
            within = false;
        } else if (uc_is_space(cp)) {
            within = false;
        } else if (!within && uc_is_alnum(cp)) {
            words++;
            within = true;
        }
    }
    return words;
}

char *text_valid(const char *s, size_t n, size_t *out_n)
{
    struct buffer b = BUFFER_INIT;
    for (size_t i = 0; i < n;) {
        uint32_t cp;
        char bytes[4];
        size_t length = text_decode(s + i, n - i, &cp);
        bool crlf = cp == '\r' && i + 1 < n && s[i + 1] == '\n';
        if (cp == '\r')
            cp = '\n';
        bool control = (cp < 0x20 && cp != '\n' && cp != '\t') || (cp >= 0x7f && cp < 0xa0);
        if (!control && !crlf)
            buffer_add(&b, bytes, text_encode(cp, bytes));
        i += length;
    }
    *out_n = b.len;
    return buffer_take(&b);
}

/* Boundaries are found within a window of the line: the algorithms want some context, but a line may have a megabyte. A
 * newline is a boundary of every kind, and so is the place between two spaces or between a space and a letter. */
#define WINDOW 512

struct window {
    size_t start, end;
};

/* The window around at, `reach` bytes to either side where the line is so long, at code points. */
static struct window window_around(const char *s, size_t n, size_t at, size_t reach)
{
    struct window w = {at, at};
    while (w.start && s[w.start - 1] != '\n' && (at - w.start < reach || ((unsigned char)s[w.start] & 0xc0) == 0x80))
        w.start--;
    while (w.end < n && s[w.end] != '\n' && (w.end - at < reach || ((unsigned char)s[w.end] & 0xc0) == 0x80))
        w.end++;
    return w;
}

typedef void boundary_fn(const uint8_t *s, size_t n, char *p);

/* The nearest boundary from at within its line, in the direction given; the line's edge if there is none. */
static size_t boundary(const char *s, size_t n, size_t at, bool forward, boundary_fn *find)
{
    for (size_t reach = WINDOW;; reach *= 8) {
        struct window w = window_around(s, n, at, reach);
        size_t length = w.end - w.start, i = at - w.start;
        if (!length)
            return at;
        char *breaks = mem_new(length, 1);
        find(u8(s + w.start), length, breaks);
        if (forward)
            do
                i++;
            while (i < length && !breaks[i]);
        else
            do
                i--;
            while (i > 0 && !breaks[i]);
        free(breaks);
        size_t found = w.start + i;
        bool at_edge =
            forward ? i == length && w.end < n && s[w.end] != '\n' : !i && w.start && s[w.start - 1] != '\n';
        if (!at_edge)
            return found;
    }
}

/* Whether a code point that is not drawn begins at `at`: it takes no step of the caret. */
static bool is_invisible(const char *s, size_t n, size_t at)
{
    uint32_t cp;
    if (at >= n || (unsigned char)s[at] < 0x80)
        return false;
    text_decode(s + at, n - at, &cp);
    return is_dropped(cp, false);
}

static size_t code_point_before(const char *s, size_t at)
{
    do
        at--;
    while (at && ((unsigned char)s[at] & 0xc0) == 0x80);
    return at;
}

static bool is_line_start(const char *s, size_t at)
{
    return !at || s[at - 1] == '\n';
}

/* Invisible code points belong to the character before them; at the beginning of a line to the one after them. */
size_t text_next(const char *s, size_t n, size_t at)
{
    if (at >= n)
        return n;
    if (s[at] == '\n')
        return at + 1;
    bool first = is_line_start(s, at);
    do {
        bool invisible = is_invisible(s, n, at);
        at = boundary(s, n, at, true, u8_grapheme_breaks);
        first = first && invisible;
    } while (at < n && s[at] != '\n' && (first || is_invisible(s, n, at)));
    return at;
}

size_t text_prev(const char *s, size_t n, size_t at)
{
    if (!at)
        return 0;
    if (s[at - 1] == '\n')
        return at - 1;
    bool invisible;
    do {
        at = boundary(s, n, at, false, u8_grapheme_breaks);
        invisible = is_invisible(s, n, at);
    } while (invisible && !is_line_start(s, at));
    size_t before = at;
    while (!is_line_start(s, before) && is_invisible(s, n, code_point_before(s, before)))
        before = code_point_before(s, before);
    return is_line_start(s, before) ? before : at;
}

static bool is_word(const char *s, size_t n)
{
    uint32_t cp;
    text_decode(s, n, &cp);
    return uc_is_alnum(cp) || cp == '_' || cp > 0x2fff;
}

size_t text_word_next(const char *s, size_t n, size_t at)
{
    while (at < n && !is_word(s + at, n - at))
        at = text_next(s, n, at);
    return at < n ? boundary(s, n, at, true, u8_wordbreaks) : n;
}

size_t text_word_prev(const char *s, size_t n, size_t at)
{
    while (at) {
        size_t before = text_prev(s, n, at);
        if (is_word(s + before, n - before))
            break;
        at = before;
    }
    return at ? boundary(s, n, at, false, u8_wordbreaks) : 0;
}

bool text_find(const char *s, size_t n, const char *needle, size_t needle_n, size_t from, size_t *start, size_t *end)
{
    struct fold_term *term = fold_term_new(needle, needle_n);
    bool found = fold_find(term, s, n, from, start, end);
    fold_term_free(term);
    return found;
}
