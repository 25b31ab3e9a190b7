/* excerpt.c - see excerpt.h. */
#include "excerpt.h"

#include "../engine/engine.h"
#include "base/buffer.h"

#include <stdbool.h>
#include <string.h>

static const char mark[] = "</think>", ellipsis[] = "\u2026";
#define MARK (sizeof mark - 1)
#define ELLIPSIS (sizeof ellipsis - 1)
#define TORN_MIN 2 /* bytes of a mark; a single one may be anything */

struct part {
    const char *s;
    size_t n;
};

static struct part without_blanks(struct part text)
{
    for (; text.n && *text.s == ' '; text.n--)
        text.s++;
    while (text.n && text.s[text.n - 1] == ' ')
        text.n--;
    return text;
}

static bool take_first_ellipsis(struct part *text)
{
    if (text->n < ELLIPSIS || memcmp(text->s, ellipsis, ELLIPSIS) != 0)
        return false;
    text->s += ELLIPSIS;
    text->n -= ELLIPSIS;
    for (size_t n = MARK - 1; n >= TORN_MIN; n--) /* "…ink> It is": of both marks the end */
        if (text->n >= n && memcmp(text->s, mark + MARK - n, n) == 0) {
            text->s += n;
            text->n -= n;
            break;
        }
    return true;
}

static bool take_last_ellipsis(struct part *text)
{
    if (text->n < ELLIPSIS || memcmp(text->s + text->n - ELLIPSIS, ellipsis, ELLIPSIS) != 0)
        return false;
    text->n -= ELLIPSIS;
    for (size_t n = MARK - 1; n >= TORN_MIN; n--) /* "and two. </thi…" */
        if (text->n >= n && memcmp(text->s + text->n - n, mark, n) == 0) {
            text->n -= n;
            break;
        }
    return true;
}

char *excerpt_of_answer(const char *excerpt)
{
    struct part text = {.s = excerpt, .n = strlen(excerpt)};
    bool cut_before = take_first_ellipsis(&text), cut_after = take_last_ellipsis(&text);
    struct engine_thought t = {.state = ENGINE_THOUGHT_UNDECIDED};
    const char *found = cut_before ? memmem(text.s, text.n, mark, MARK) : NULL;
    if (!cut_before) {
        engine_thought_read(&t, text.s, text.n, true);
    } else if (found) {
        t.end = (size_t)(found - text.s);
        t.answer = t.end + MARK;
    }
    struct part before = without_blanks((struct part){text.s + t.start, t.end - t.start});
    struct part after = without_blanks((struct part){text.s + t.answer, text.n - t.answer});
    struct buffer out = BUFFER_INIT;
    buffer_puts(&out, cut_before ? ellipsis : "");
    buffer_add(&out, before.s, before.n);
    buffer_puts(&out, before.n && after.n ? " " : "");
    buffer_add(&out, after.s, after.n);
    buffer_puts(&out, cut_after ? ellipsis : "");
    return buffer_take(&out);
}
