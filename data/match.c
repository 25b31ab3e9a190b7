/* match.c - see match.h. */
#include "match.h"
#include "../src/base/fold.h"
#include "../src/base/mem.h"
#include "store_structs.h"

#include <stdlib.h>
#include <string.h>
#include <unictype.h>
#include <unigbrk.h>
#include <unistr.h>

#define EXCERPT_BEFORE 24 /* graphemes before the match */
#define EXCERPT_AFTER 96  /* and from its start on */

/* One code point; malformed bytes come as U+FFFD, one at a time. */
static size_t decode(const char *s, size_t len, ucs4_t *c)
{
    if ((unsigned char)*s < 0x80) {
        *c = (unsigned char)*s;
        return 1;
    }
    return (size_t)u8_mbtouc(c, (const uint8_t *)s, len);
}

static bool is_blank(ucs4_t c)
{
    return c <= ' ' || c == 0x7f || uc_is_property_white_space(c);
}

static void add_term(struct match_query *q, const char *start, size_t len)
{
    struct fold_term *fold = fold_term_new(start, len);
    q->terms = mem_append(q->terms, q->n, sizeof *q->terms);
    q->terms[q->n++] = (struct match_term){.start = start, .len = len, .units = fold_term_units(fold), .fold = fold};
}

struct match_query match_parse(const char *query)
{
    struct match_query q = {0};
    size_t len = strlen(query), start = 0, end, step;
    for (end = 0; end < len && q.n < MATCH_MAX_TERMS; end += step) {
        ucs4_t c;
        step = decode(query + end, len - end, &c);
        if (!is_blank(c))
            continue;
        if (end > start)
            add_term(&q, query + start, end - start);
        start = end + step;
    }
    if (end > start && q.n < MATCH_MAX_TERMS)
        add_term(&q, query + start, end - start);
    return q;
}

void match_free(struct match_query *q)
{
    for (size_t i = 0; i < q->n; i++)
        fold_term_free(q->terms[i].fold);
    free(q->terms);
    *q = (struct match_query){0};
}

ptrdiff_t match_find(const struct match_term *term, const char *text, size_t text_len)
{
    size_t start, end;
    return fold_find(term->fold, text, text_len, 0, &start, &end) ? (ptrdiff_t)start : -1;
}

/* Writes text as a single line without leading or repeated blanks. Returns its length. */
static size_t put_line(char *line, const char *text, size_t len)
{
    size_t used = 0, step;
    for (size_t i = 0; i < len; i += step) {
        ucs4_t c;
        step = decode(text + i, len - i, &c);
        if (!is_blank(c) && !uc_is_general_category(c, UC_CONTROL)) {
            memcpy(line + used, text + i, step);
            used += step;
        } else if (used > 0 && line[used - 1] != ' ') {
            line[used++] = ' ';
        }
    }
    while (used > 0 && line[used - 1] == ' ')
        used--;
    line[used] = '\0';
    return used;
}

static const uint8_t *char_before(const uint8_t *p, const uint8_t *start)
{
    const uint8_t *lowest = p - start > 4 ? p - 4 : start;
    do
        p--;
    while (p > lowest && (*p & 0xc0) == 0x80);
    return p;
}

/* Whether a grapheme begins at p. Compares pairs of characters, and never breaks after a zero-width joiner (an emoji
 * family). Avoids libunistring's backward search, which crashes on malformed UTF-8 in version 1.0. */
static bool is_boundary(const uint8_t *p, const uint8_t *start, const uint8_t *end)
{
    ucs4_t before, after;
    if (p == start || p == end)
        return true;
    const uint8_t *previous = char_before(p, start);
    u8_mbtouc(&before, previous, (size_t)(end - previous));
    u8_mbtouc(&after, p, (size_t)(end - p));
    return before != 0x200d && uc_is_grapheme_break(before, after);
}

static const uint8_t *step_back(const uint8_t *p, const uint8_t *start, const uint8_t *end)
{
    do
        p = char_before(p, start);
    while (!is_boundary(p, start, end));
    return p;
}

static const uint8_t *step_on(const uint8_t *p, const uint8_t *start, const uint8_t *end)
{
    ucs4_t c;
    do
        p += u8_mbtouc(&c, p, (size_t)(end - p));
    while (!is_boundary(p, start, end));
    return p;
}

char *match_excerpt(const char *text, size_t text_len, size_t at)
{
    const uint8_t *start = (const uint8_t *)text, *end = start + text_len;
    const uint8_t *from = start + at, *to = start + at;
    for (int i = 0; i < EXCERPT_BEFORE && from > start; i++)
        from = step_back(from, start, end);
    for (int i = 0; i < EXCERPT_AFTER && to < end; i++)
        to = step_on(to, start, end);
    size_t kept = (size_t)(to - from), used = 0;
    char *line = mem_new(kept + 8, 1);
    if (from > start)
        used = (size_t)(stpcpy(line, "\u2026") - line);
    used += put_line(line + used, (const char *)from, kept);
    if (to < end)
        strcpy(line + used, "\u2026");
    return line;
}
