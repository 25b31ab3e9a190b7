/* fold.c - see fold.h. */
#include "fold.h"

#include "mem.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unicase.h>
#include <unictype.h>
#include <uninorm.h>
#include <unistr.h>

#define MAX_UNITS 18 /* of a code point; U+FDFA would have 18 if it were decomposed */
#define MAX_MARKS 8  /* accents of a letter that are compared */
#define CACHED 0x3100

struct letter {
    uint32_t base;
    uint32_t marks[MAX_MARKS];
    size_t n_marks;
};

struct fold_term {
    struct letter *letters;
    size_t n;
    char *bytes; /* of a term that text can only contain byte for byte (see is_plain); NULL: any other */
    size_t len;
};

/* ---- units ---- */

static size_t decode(const char *s, size_t n, ucs4_t *c)
{
    if ((unsigned char)*s < 0x80) {
        *c = (unsigned char)*s;
        return 1;
    }
    return (size_t)u8_mbtouc(c, (const uint8_t *)s, n);
}

static bool is_ideograph(ucs4_t c)
{
    return (c >= 0x3400 && c <= 0x9fff) || (c >= 0x20000 && c < 0x2f800) || (c >= 0x30000 && c <= 0x3ffff);
}

static size_t compute_units(ucs4_t c, uint32_t *units)
{
    size_t n = MAX_UNITS;
    uint32_t *got = u32_casefold(&c, 1, NULL, UNINORM_NFD, units, &n);
    if (got == units)
        return n;
    free(got); /* NULL, or more units than any code point has */
    units[0] = c;
    return 1;
}

/*
 * Units of the code points below CACHED, computed when first asked for: up to three of 21 bits in a word, lowest
 * first, with the top bit set. 0: not computed; UNCACHED: more than three. Threads may compute the same entry at once.
 */
#define KNOWN (UINT64_C(1) << 63)
#define UNCACHED (UINT64_C(1) << 62)
#define UNIT_BITS 21
#define UNIT_MASK ((UINT64_C(1) << UNIT_BITS) - 1)

static size_t cached_units(ucs4_t c, uint32_t *units)
{
    static _Atomic uint64_t cache[CACHED];
    uint64_t word = atomic_load_explicit(&cache[c], memory_order_relaxed);
    if (!word) {
        size_t n = compute_units(c, units);
        word = KNOWN;
        for (size_t i = 0; i < n && n <= 2; i++)
            word |= (uint64_t)units[i] << (i * UNIT_BITS);
        word = n <= 2 ? word : UNCACHED;
        atomic_store_explicit(&cache[c], word, memory_order_relaxed);
    }
    if (word == UNCACHED)
        return compute_units(c, units);
    units[0] = (uint32_t)(word & UNIT_MASK);
    units[1] = (uint32_t)(word >> UNIT_BITS & UNIT_MASK);
    return units[1] ? 2 : 1;
}

/* The units of a code point; returns how many. */
static size_t units_of(ucs4_t c, uint32_t *units)
{
    if (c < 0x80) {
        units[0] = c >= 'A' && c <= 'Z' ? c + 32 : c;
        return 1;
    }
    if (c < CACHED)
        return cached_units(c, units);
    if (is_ideograph(c)) {
        units[0] = c;
        return 1;
    }
    return compute_units(c, units);
}

/* Marks that a term may leave out: those above, below and across letters, and the points of Hebrew and Arabic. Not the
 * nukta (class 7), the voicing of kana (8), the virama (9) and the tones of Thai and Lao (103 to 122). */
static bool is_accent(uint32_t unit)
{
    if (unit < 0x300)
        return false;
    int class = uc_combining_class(unit);
    return (class >= 10 && class <= 36) || class >= 200;
}

/* Marks that make another letter of the one before them. */
static bool joins(uint32_t unit)
{
    if (unit < 0x300)
        return false;
    int class = uc_combining_class(unit);
    return class == 7 || class == 8 || (unit >= 0x1160 && unit <= 0x11ff); /* or the rest of a Hangul syllable */
}

struct reader {
    const char *s;
    size_t n, at; /* at: behind the code point of the last unit */
    uint32_t units[MAX_UNITS];
    size_t have, next;
};

static bool next_unit(struct reader *r, uint32_t *unit)
{
    if (r->next == r->have) {
        ucs4_t c;
        if (r->at >= r->n)
            return false;
        r->at += decode(r->s + r->at, r->n - r->at, &c);
        r->have = units_of(c, r->units);
        r->next = 0;
    }
    *unit = r->units[r->next++];
    return true;
}

/* A letter with its accents in canonical order. *unit is its base when called, and afterwards the unit behind it; *has:
 * whether there is one. Returns the offset behind the letter. */
static size_t read_letter(struct reader *r, uint32_t *unit, bool *has, struct letter *l)
{
    size_t end = r->at;
    l->base = *unit;
    l->n_marks = 0;
    while ((*has = next_unit(r, unit)) && is_accent(*unit)) {
        end = r->at;
        if (l->n_marks == MAX_MARKS)
            continue;
        size_t i = l->n_marks++;
        for (; i && uc_combining_class(l->marks[i - 1]) > uc_combining_class(*unit); i--)
            l->marks[i] = l->marks[i - 1];
        l->marks[i] = *unit;
    }
    return end;
}

/* ---- terms ---- */

/* Ideographs and ASCII without letters: no other spelling exists, but for compatibility ideographs. */
static bool is_plain(const char *s, size_t n)
{
    ucs4_t c;
    for (size_t i = 0; i < n;) {
        i += decode(s + i, n - i, &c);
        if (!is_ideograph(c) && (c >= 0x80 || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z')))
            return false;
    }
    return n > 0;
}

struct fold_term *fold_term_new(const char *s, size_t n)
{
    struct fold_term *t = mem_new(1, sizeof *t);
    struct reader r = {.s = s, .n = n};
    uint32_t unit;
    size_t cap = 0;
    for (bool has = next_unit(&r, &unit); has; t->n++) {
        t->letters = mem_grow(t->letters, &cap, t->n + 1, sizeof *t->letters);
        read_letter(&r, &unit, &has, &t->letters[t->n]);
    }
    if (is_plain(s, n)) {
        t->bytes = mem_copy(s, n);
        t->len = n;
    }
    return t;
}

void fold_term_free(struct fold_term *t)
{
    if (!t)
        return;
    free(t->letters);
    free(t->bytes);
    free(t);
}

size_t fold_term_units(const struct fold_term *t)
{
    size_t n = 0;
    for (size_t i = 0; i < t->n; i++)
        n += !is_accent(t->letters[i].base); /* a term may begin with one */
    return n;
}

/* ---- finding ---- */

static bool same_letter(const struct letter *wanted, const struct letter *l)
{
    return wanted->base == l->base &&
           (!wanted->n_marks ||
            (wanted->n_marks == l->n_marks && memcmp(wanted->marks, l->marks, l->n_marks * sizeof *l->marks) == 0));
}

static bool matches_at(const struct fold_term *t, const char *s, size_t n, size_t at, size_t *end)
{
    struct reader r = {.s = s, .n = n, .at = at};
    uint32_t unit;
    bool has = next_unit(&r, &unit);
    for (size_t i = 0; i < t->n; i++) {
        struct letter l;
        if (!has || unit != t->letters[i].base)
            return false;
        *end = read_letter(&r, &unit, &has, &l);
        if (!same_letter(&t->letters[i], &l))
            return false;
    }
    return !has || !joins(unit);
}

/* Whether a text holds ideographs that exist for compatibility only (U+F900 and U+2F800 on): they are others in another
 * encoding. */
static bool has_compatibility(const char *s, size_t n)
{
    for (const char *p = s, *end = s + n; (p = memchr(p, 0xef, (size_t)(end - p))); p++)
        if (end - p > 1 && (unsigned char)p[1] >= 0xa4 && (unsigned char)p[1] <= 0xab)
            return true;
    return memmem(s, n, "\xf0\xaf", 2) != NULL;
}

bool fold_find(const struct fold_term *t, const char *s, size_t n, size_t from, size_t *start, size_t *end)
{
    if (!t->n || from >= n)
        return false;
    if (t->bytes) {
        const char *found = memmem(s + from, n - from, t->bytes, t->len);
        if (found) {
            *start = (size_t)(found - s);
            *end = *start + t->len;
            return true;
        }
        if (!has_compatibility(s + from, n - from))
            return false;
    }
    uint32_t first = t->letters[0].base, units[MAX_UNITS];
    for (size_t at = from, step; at < n; at += step) {
        ucs4_t c;
        step = decode(s + at, n - at, &c);
        units_of(c, units);
        if (units[0] == first && matches_at(t, s, n, at, end)) {
            *start = at;
            return true;
        }
    }
    return false;
}

char *fold_units(const char *s, size_t n, size_t *out_n)
{
    struct reader r = {.s = s, .n = n};
    size_t used = 0, cap = 0;
    char *out = NULL;
    for (uint32_t unit; next_unit(&r, &unit);) {
        if (is_accent(unit))
            continue;
        out = mem_grow(out, &cap, used + 8, 1);
        int len = u8_uctomb((uint8_t *)out + used, unit, 7);
        used += len > 0 ? (size_t)len : 0;
    }
    out = mem_grow(out, &cap, used + 1, 1);
    out[used] = '\0';
    *out_n = used;
    return out;
}
