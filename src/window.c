/* window.c - see window.h. */
#include "window.h"

#include "base/buffer.h"
#include "base/mem.h"

#include <string.h>

static const char mark[] = "\n[... the middle of this message was left out ...]\n";

static bool continues(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

/* A sequence has at most three continuation bytes: in bytes that are no UTF-8 the search must end as well. */
static size_t sequence_start(const char *text, size_t at)
{
    for (int i = 0; i < 3 && at > 0 && continues(text[at]); i++)
        at--;
    return at;
}

static size_t sequence_end(const char *text, size_t len, size_t at)
{
    for (int i = 0; i < 3 && at < len && continues(text[at]); i++)
        at++;
    return at;
}

/* Where the head ends: after the last line end of its last quarter, else between two sequences. */
static size_t head_end(const char *text, size_t max)
{
    for (size_t at = max; at > max - max / 4; at--)
        if (text[at - 1] == '\n')
            return at;
    return sequence_start(text, max);
}

static size_t tail_start(const char *text, size_t len, size_t max)
{
    for (size_t at = len - max; at < len - max + max / 4; at++)
        if (text[at - 1] == '\n')
            return at;
    return sequence_end(text, len, len - max);
}

struct window_plan window_plan(const struct window_costs *costs, bool idle)
{
    struct window_plan plan = {.action = WINDOW_KEEP, .used = costs->fixed};
    for (size_t i = 0; i < costs->n_messages; i++)
        plan.used += costs->messages[i];

    int limit = (int)(costs->n_ctx * (idle ? WINDOW_SOFT : WINDOW_HARD));
    if (!idle && costs->n_ctx - costs->reserve < limit)
        limit = costs->n_ctx - costs->reserve;
    if (plan.used <= limit)
        return plan;

    int goal = (int)(costs->n_ctx * WINDOW_GOAL);
    int left = plan.used - costs->summary + costs->summary_max;
    int left_at_cover = plan.used;
    for (size_t i = 1; i < costs->n_messages && left_at_cover > goal; i++) {
        left -= costs->messages[i - 1];
        if (costs->is_answer[i]) /* a turn is a person's message and what answered it: never parted */
            continue;
        plan.cover = i;
        left_at_cover = left;
    }
    if (left_at_cover < plan.used)
        plan.action = WINDOW_COMPACT;
    else
        plan.cover = 0;
    return plan;
}

char *window_cut_middle(const char *text, size_t len, size_t max_bytes)
{
    size_t n_mark = sizeof mark - 1;
    if (len <= max_bytes)
        return mem_copy(text, len);
    if (max_bytes < n_mark + 2)
        return mem_copy(text, sequence_start(text, max_bytes));

    size_t half = (max_bytes - n_mark) / 2;
    size_t head = head_end(text, half), tail = tail_start(text, len, half);
    struct buffer out = BUFFER_INIT;
    buffer_add(&out, text, head);
    buffer_add(&out, mark, n_mark);
    buffer_add(&out, text + tail, len - tail);
    return buffer_take(&out);
}
