/* lines_text.h - laid out lines as one string, for comparing: a newline after each. */
#ifndef LINES_TEXT_H
#define LINES_TEXT_H

#include "../../../src/base/buffer.h"
#include "../../../ui/lines.h"
#include "../../../ui/text.h"

#include <stdlib.h>
#include <string.h>

static inline char *lines_text(const struct lines *l)
{
    struct buffer b = BUFFER_INIT;
    buffer_puts(&b, "");
    for (size_t i = 0; i < l->n; i++) {
        for (uint32_t k = 0; k < l->v[i].n_spans; k++) {
            const struct text_run *s = &l->spans[l->v[i].span + k];
            buffer_add(&b, l->text + s->start, s->len);
        }
        buffer_puts(&b, "\n");
    }
    return b.s;
}

#define assert_lines(l, expected)                                                                                    \
    do {                                                                                                             \
        char *text_ = lines_text(l);                                                                                 \
        assert_string_equal(text_, expected);                                                                        \
        free(text_);                                                                                                 \
    } while (0)

static inline void assert_fits(const struct lines *l, int width)
{
    for (size_t i = 0; i < l->n; i++) {
        assert_true(l->v[i].width <= width);
        assert_int_equal(l->v[i].width, text_width(l->text + l->v[i].text, l->v[i].len));
    }
}

/* The style of the first span that holds the text. */
static inline unsigned style_of(const struct lines *l, const char *text)
{
    size_t start, end;
    for (size_t i = 0; i < l->n_spans; i++)
        if (text_find(l->text + l->spans[i].start, l->spans[i].len, text, strlen(text), 0, &start, &end))
            return l->spans[i].style;
    fail_msg("no span holds %s", text);
    return 0;
}

#endif
