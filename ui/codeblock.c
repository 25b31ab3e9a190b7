/* codeblock.c - see codeblock.h */
#include "codeblock.h"

#include "markdown.h"

#include <md4c.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define TAB_COLUMNS 4 /* of md4c, CommonMark section 2.2 */

struct reader {
    const char *raw;
    size_t n;
    size_t wanted; /* 0 = each block replaces the one before */
    size_t found;
    struct buffer *out;
    bool inside;
    size_t indent; /* columns of indentation md4c wrote for the line being read */
};

/* md4c writes the indentation of a code line as spaces. The source may hold tabs there: they are copied from the bytes
 * before s, except for columns that belong to a list or quote around the block. */
static void add_indent(struct reader *r, const char *s)
{
    const char *line = s, *at;
    size_t columns = 0, skip, column = 0;
    while (line > r->raw && line[-1] != '\n')
        line--;
    for (at = line; at < s; at++)
        columns = *at == '\t' ? columns + TAB_COLUMNS - columns % TAB_COLUMNS : columns + 1;
    skip = columns > r->indent ? columns - r->indent : 0;
    for (at = line; at < s && column < skip; at++)
        column = *at == '\t' ? column + TAB_COLUMNS - column % TAB_COLUMNS : column + 1;
    for (; column > skip; column--) /* a tab that reaches into the code */
        buffer_add(r->out, " ", 1);
    buffer_add(r->out, at, (size_t)(s - at));
}

static int enter_block(MD_BLOCKTYPE type, void *detail, void *ctx)
{
    struct reader *r = ctx;
    (void)detail;
    if (type != MD_BLOCK_CODE)
        return 0;
    r->found++;
    r->inside = !r->wanted || r->found == r->wanted;
    r->indent = 0;
    if (r->inside)
        buffer_clear(r->out);
    return 0;
}

static int leave_block(MD_BLOCKTYPE type, void *detail, void *ctx)
{
    struct reader *r = ctx;
    (void)detail;
    if (type == MD_BLOCK_CODE)
        r->inside = false;
    return 0;
}

static int on_text(MD_TEXTTYPE type, const MD_CHAR *s, MD_SIZE n, void *ctx)
{
    struct reader *r = ctx;
    bool source = (uintptr_t)s >= (uintptr_t)r->raw && (uintptr_t)s < (uintptr_t)r->raw + r->n;
    if (!r->inside)
        return 0;
    if (type == MD_TEXT_NULLCHAR) {
        buffer_puts(r->out, "\xef\xbf\xbd");
    } else if (source) {
        if (r->indent)
            add_indent(r, s);
        buffer_add(r->out, s, n);
        r->indent = 0;
    } else if (*s == '\n') {
        buffer_add(r->out, "\n", 1); /* indentation alone makes an empty line */
        r->indent = 0;
    } else {
        r->indent += n;
    }
    return 0;
}

static int enter_span(MD_SPANTYPE type, void *detail, void *ctx)
{
    (void)type, (void)detail, (void)ctx;
    return 0;
}

size_t codeblock_read(const char *raw, size_t n, size_t number, struct buffer *out)
{
    const MD_PARSER parser = {
        .flags = markdown_flags,
        .enter_block = enter_block,
        .leave_block = leave_block,
        .enter_span = enter_span,
        .leave_span = enter_span,
        .text = on_text,
    };
    struct reader r = {.raw = raw, .n = n, .wanted = number, .out = out};
    buffer_clear(out);
    md_parse(raw, (MD_SIZE)n, &parser, &r);
    return r.found;
}
