/* thought.c - engine_thought of engine.h: what a model thought, and its answer, told apart in one text. */
#include "engine.h"

#include <string.h>

static const char open_mark[] = "<think>", close_mark[] = "</think>";
#define OPEN_LENGTH (sizeof open_mark - 1)
#define CLOSE_LENGTH (sizeof close_mark - 1)

static bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

static size_t skip_spaces(const char *text, size_t from, size_t to)
{
    while (from < to && is_space(text[from]))
        from++;
    return from;
}

/* The bytes at the end of text[from..len) that may become the mark that ends a thought. */
static size_t mark_begun(const char *text, size_t from, size_t len)
{
    size_t n = len - from < CLOSE_LENGTH - 1 ? len - from : CLOSE_LENGTH - 1;
    while (n && memcmp(text + len - n, close_mark, n) != 0)
        n--;
    return n;
}

static void read_start(struct engine_thought *t, const char *text, size_t len, bool whole)
{
    size_t at = skip_spaces(text, 0, len), n = len - at < OPEN_LENGTH ? len - at : OPEN_LENGTH;
    bool begins = n == 0 || memcmp(text + at, open_mark, n) == 0;
    if (n == OPEN_LENGTH && begins) {
        t->state = ENGINE_THOUGHT_OPEN;
        t->start = t->end = t->searched = at + OPEN_LENGTH;
    } else if (whole || !begins) {
        t->state = ENGINE_THOUGHT_NONE;
        t->start = t->end = t->answer = 0;
    } else {
        t->start = t->end = t->answer = len;
    }
}

static void read_thought(struct engine_thought *t, const char *text, size_t len, bool whole)
{
    const char *mark = memmem(text + t->searched, len - t->searched, close_mark, CLOSE_LENGTH);
    size_t end = mark ? (size_t)(mark - text) : whole ? len : len - mark_begun(text, t->searched, len);
    t->answer = len;
    if (mark) {
        t->state = ENGINE_THOUGHT_CLOSED;
        t->answer = end + CLOSE_LENGTH;
    } else if (len - t->searched >= CLOSE_LENGTH) {
        t->searched = len - (CLOSE_LENGTH - 1);
    }
    if (t->start == t->end)
        t->start = skip_spaces(text, t->start, end);
    while (end > t->start && is_space(text[end - 1]))
        end--;
    t->end = end;
}

void engine_thought_read(struct engine_thought *t, const char *text, size_t len, bool whole)
{
    if (t->state == ENGINE_THOUGHT_UNDECIDED)
        read_start(t, text, len, whole);
    if (t->state == ENGINE_THOUGHT_OPEN)
        read_thought(t, text, len, whole);
    if (t->state == ENGINE_THOUGHT_CLOSED)
        t->answer = skip_spaces(text, t->answer, len);
}
