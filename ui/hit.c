/* hit.c - see hit.h */
#include "hit.h"

#include "text.h"

#include <stdbool.h>
#include <string.h>

#define ELLIPSIS "\u2026" /* one cell */

/* Finds the first match of any word of query at or after from; prefers the longest one at the same place. */
static bool find_word(const char *s, size_t n, const char *query, size_t from, size_t *start, size_t *end)
{
    bool found = false;
    for (const char *word = query + strspn(query, " "); *word; word += strspn(word, " ")) {
        size_t length = strcspn(word, " "), a, b;
        if (text_find(s, n, word, length, from, &a, &b) && (!found || a < *start || (a == *start && b > *end))) {
            *start = a;
            *end = b;
            found = true;
        }
        word += length;
    }
    return found;
}

/* Returns the offset to begin at so that [start, end) is in view: at most a third of the remaining width comes before
 * it, or more if little text follows it. */
static size_t window_start(const char *s, size_t n, size_t start, size_t end, int width)
{
    int hit = text_width(s + start, end - start), before = text_width(s, start), after = text_width(s + end, n - end);
    int beside = width > hit ? width - hit : 0, room = beside / 3, cell;
    room = after + 1 < beside - room ? beside - after : room;
    size_t at = 0, word = start;
    if (before + hit + 1 <= width)
        return 0;
    for (; before > room && at < start; before -= cell)
        at += text_cell(s + at, start - at, &cell);
    for (size_t i = start; i > at; i--) /* begin at a word, if one begins there */
        if (s[i - 1] == ' ')
            word = i;
    return word < start || s[start - 1] == ' ' ? word : at;
}

void hit_layout(const char *text, const char *query, int width, unsigned style, struct lines *out)
{
    size_t n = strlen(text), start, end, from = 0, to = n;
    int used;
    if (text_width(text, n) > width) {
        if (find_word(text, n, query, 0, &start, &end))
            from = window_start(text, n, start, end, width - 2);
        int room = width - (from > 0);
        to = from + text_fit(text + from, n - from, room, &used);
        if (to < n)
            to = from + text_fit(text + from, n - from, room - 1, &used);
    }
    lines_put(out, ELLIPSIS, from ? strlen(ELLIPSIS) : 0, style);
    for (size_t at = from; at < to;) {
        bool found = find_word(text, n, query, at, &start, &end) && start < to;
        size_t plain = found ? start : to;
        lines_put(out, text + at, plain - at, style);
        at = found && end < to ? end : to;
        lines_put(out, text + plain, at - plain, STYLE_MATCH);
    }
    lines_put(out, ELLIPSIS, to < n ? strlen(ELLIPSIS) : 0, style);
    lines_end(out, 0, 0);
}
