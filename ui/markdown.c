/* markdown.c - see markdown.h */
#include "markdown.h"

#include "../src/base/mem.h"
#include "formula.h"
#include "table.h"
#include "text.h"

#include <md4c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH 16 /* containers drawn; deeper ones are laid out as the 16th */
#define MAX_SPANS 32 /* nested spans whose end restores the style before */
#define MAX_LINKS 8  /* nested: an image in a link's text, a link in an image's; deeper ones show no address */

/* A block quote or list item around what is being laid out. */
struct container {
    bool quote;
    char marker[20]; /* of an item: drawn once, then as many spaces */
    int marker_width;
    bool marker_drawn;
};

struct list {
    bool ordered, tight;
    unsigned number;
};

/* A link or image whose text is being read. */
struct link {
    char *href;
    size_t start; /* of its text in the flow */
};

struct painter {
    struct lines *out;
    const struct markdown_options *options;
    const char *text;  /* what md4c reads: clean, formulas hidden */
    const char *shown; /* the same with its formulas */
    size_t n;
    const uint32_t *origin; /* of each byte of it, relative to base */
    uint32_t base;
    struct container containers[MAX_DEPTH];
    int depth; /* all open containers, including those not drawn */
    struct list lists[MAX_DEPTH];
    int list_depth;             /* likewise */
    struct flow flow;           /* the leaf block being collected */
    unsigned style;             /* of the spans around */
    unsigned styles[MAX_SPANS]; /* what style was before each open span */
    int n_spans;                /* all open spans, including those without an entry in styles */
    int struck;                 /* number of the open strikethrough span whose text has not begun; 0 = none */
    unsigned tildes; /* of the spans struck through, innermost lowest: whether they only have a tilde on each side */
    struct link links[MAX_LINKS];
    int n_links; /* all open links, including those without an entry in links */
    struct table table;
    bool in_table, in_head;
    bool gap; /* an empty line is due before the next block */
    bool any; /* something was laid out */
    bool verbatim;
    uint32_t src; /* of the last text seen, for lines without any */
};

/* ---- margins ---- */

static int drawn(int depth)
{
    return depth < MAX_DEPTH ? depth : MAX_DEPTH;
}

static bool tight(const struct painter *p)
{
    return p->list_depth && p->lists[drawn(p->list_depth) - 1].tight;
}

static int margin_width(const struct painter *p)
{
    int width = 0;
    for (int i = 0; i < drawn(p->depth); i++)
        width += p->containers[i].quote ? 2 : p->containers[i].marker_width;
    return width;
}

/* Puts the margin of a line, with the markers not drawn yet. An empty line between blocks gets no markers. */
static void put_margin(struct painter *p, bool empty_line)
{
    int visible = drawn(p->depth); /* an empty line has no spaces at its end */
    while (empty_line && visible && !p->containers[visible - 1].quote)
        visible--;
    for (int i = 0; i < visible; i++) {
        struct container *c = &p->containers[i];
        if (c->quote) {
            const char *bar = p->options->ascii ? "> " : "▎ ";
            lines_put(p->out, bar, strlen(bar), STYLE_QUOTE);
        } else if (!c->marker_drawn && !empty_line) {
            lines_put(p->out, c->marker, strlen(c->marker), STYLE_DIM);
            c->marker_drawn = true;
        } else {
            lines_put(p->out, "                    ", (size_t)c->marker_width, 0);
        }
    }
    lines_margin(p->out);
}

static void begin_line(void *ctx)
{
    put_margin(ctx, false);
}

/* Call before laying out a block. */
static void space_before(struct painter *p)
{
    if (p->gap && p->any) {
        put_margin(p, true);
        lines_end(p->out, p->out->v[p->out->n - 1].src, 0); /* p->src may be within the next block already */
    }
    p->gap = false;
}

static int room(const struct painter *p)
{
    int width = p->options->width - margin_width(p);
    return width > 4 ? width : 4;
}

/* ---- blocks ---- */

static void put_wrapped(struct painter *p, const char *indent)
{
    struct wrap w;
    struct wrap_piece piece;
    const struct flow *f = &p->flow;
    unsigned joins = 0;
    int width = room(p) - (int)strlen(indent);
    wrap_begin(&w, f->s ? f->s : "", f->n, p->verbatim);
    while (wrap_next(&w, width > 2 ? width : 2, &piece)) {
        put_margin(p, false);
        lines_put(p->out, indent, strlen(indent), 0);
        lines_margin(p->out);
        flow_put(f, piece.start, piece.end, p->out);
        lines_end(p->out, piece.start < f->n ? f->src[piece.start] : p->src, joins);
        joins = piece.hard ? 0 : piece.next > piece.end ? 2 : 1;
        if (piece.hard && piece.next == f->n)
            break; /* the newline at the end of code ends its last line */
    }
    wrap_end(&w);
    p->any = true;
}

/* Lays out the collected text, if there is any. */
static void flush(struct painter *p, const char *indent)
{
    if (p->flow.n) {
        space_before(p);
        put_wrapped(p, indent);
    }
    flow_clear(&p->flow);
}

static void put_rule(struct painter *p)
{
    space_before(p);
    put_margin(p, false);
    for (int i = 0; i < room(p); i++)
        lines_put(p->out, p->options->ascii ? "-" : "─", p->options->ascii ? 1 : 3, STYLE_DIM);
    lines_end(p->out, p->src, 0);
    p->any = p->gap = true;
}

static void put_table(struct painter *p)
{
    space_before(p);
    table_layout(&p->table, room(p), p->options->ascii, begin_line, p, p->out);
    table_free(&p->table);
    p->in_table = false;
    p->any = p->gap = true;
}

static void enter_item(struct painter *p, const MD_BLOCK_LI_DETAIL *detail)
{
    if (p->depth++ >= MAX_DEPTH || !p->list_depth)
        return;
    struct list *list = &p->lists[drawn(p->list_depth) - 1];
    struct container *c = &p->containers[p->depth - 1];
    *c = (struct container){0};
    const char *box = !detail->is_task ? "" : detail->task_mark == ' ' ? "[ ] " : "[x] ";
    if (list->ordered)
        snprintf(c->marker, sizeof c->marker, "%u. %s", list->number++, box);
    else
        strcpy(c->marker, *box ? box : p->options->ascii ? "- " : "• ");
    c->marker_width = text_width(c->marker, strlen(c->marker));
}

static void leave_item(struct painter *p)
{
    flush(p, "");
    if (p->depth <= MAX_DEPTH && !p->containers[p->depth - 1].marker_drawn) { /* an empty item */
        space_before(p);
        put_margin(p, false);
        lines_end(p->out, p->src, 0);
        p->any = true;
    }
    p->depth--;
}

static void enter_list(struct painter *p, bool ordered, bool is_tight, unsigned start)
{
    flush(p, "");
    if (p->list_depth && tight(p))
        p->gap = false;
    if (p->list_depth++ < MAX_DEPTH)
        p->lists[p->list_depth - 1] = (struct list){ordered, is_tight, start};
}

static int enter_block(MD_BLOCKTYPE type, void *detail, void *ctx)
{
    struct painter *p = ctx;
    const MD_BLOCK_UL_DETAIL *ul = detail;
    const MD_BLOCK_OL_DETAIL *ol = detail;
    const MD_BLOCK_TABLE_DETAIL *table = detail;
    const MD_BLOCK_TD_DETAIL *cell = detail;
    switch (type) {
    case MD_BLOCK_QUOTE:
        flush(p, "");
        space_before(p);
        if (p->depth++ < MAX_DEPTH)
            p->containers[p->depth - 1] = (struct container){.quote = true};
        break;
    case MD_BLOCK_UL: enter_list(p, false, ul->is_tight, 0); break;
    case MD_BLOCK_OL: enter_list(p, true, ol->is_tight, ol->start); break;
    case MD_BLOCK_LI: enter_item(p, detail); break;
    case MD_BLOCK_HR:
        flush(p, "");
        put_rule(p);
        break;
    case MD_BLOCK_H:
        flush(p, "");
        p->style |= STYLE_BOLD | STYLE_HEADING;
        break;
    case MD_BLOCK_CODE:
        flush(p, "");
        p->verbatim = true;
        p->style = STYLE_CODE;
        break;
    case MD_BLOCK_TABLE:
        flush(p, "");
        p->in_table = true;
        p->table.n_columns = table->col_count;
        p->table.align = mem_new(1, (table->col_count + 1) * sizeof *p->table.align);
        break;
    case MD_BLOCK_TH:
    case MD_BLOCK_TD:
        if (type == MD_BLOCK_TH && p->table.n_cells < p->table.n_columns)
            p->table.align[p->table.n_cells] = cell->align == MD_ALIGN_RIGHT    ? TABLE_RIGHT
                                               : cell->align == MD_ALIGN_CENTER ? TABLE_CENTER
                                                                                : TABLE_LEFT;
        p->style = type == MD_BLOCK_TH ? STYLE_BOLD : 0;
        table_add(&p->table);
        break;
    default: flush(p, "");
    }
    return 0;
}

static int leave_block(MD_BLOCKTYPE type, void *detail, void *ctx)
{
    struct painter *p = ctx;
    (void)detail;
    switch (type) {
    case MD_BLOCK_QUOTE:
        flush(p, "");
        p->depth--;
        p->gap = true;
        break;
    case MD_BLOCK_UL:
    case MD_BLOCK_OL:
        p->list_depth--;
        p->gap = !tight(p);
        break;
    case MD_BLOCK_LI: leave_item(p); break;
    case MD_BLOCK_CODE:
        if (!p->flow.n)
            flow_add(&p->flow, "\n", 1, STYLE_CODE, p->src, true);
        flush(p, "  ");
        p->verbatim = false;
        p->style = 0;
        p->gap = !tight(p);
        break;
    case MD_BLOCK_TABLE: put_table(p); break;
    case MD_BLOCK_TH:
    case MD_BLOCK_TD: p->style = 0; break;
    case MD_BLOCK_P:
    case MD_BLOCK_H:
        flush(p, "");
        p->style = 0;
        p->gap = true;
        break;
    default: flush(p, "");
    }
    return 0;
}

/* ---- spans and text ---- */

static struct flow *target(struct painter *p)
{
    return p->in_table && p->table.n_cells ? &p->table.cells[p->table.n_cells - 1] : &p->flow;
}

static void add(struct painter *p, const char *s, size_t n, unsigned style)
{
    flow_add(target(p), s, n, style, p->src, true);
}

/* Adds text from md4c. Its source offset is known if it points into our buffer. */
static void add_source(struct painter *p, const char *s, size_t n, unsigned style)
{
    struct flow *f = target(p);
    size_t at = f->n;
    bool source = s >= p->text && s < p->text + p->n;
    add(p, source ? p->shown + (s - p->text) : s, n, style);
    if (!source)
        return;
    for (size_t i = 0; i < n; i++)
        f->src[at + i] = p->base + p->origin[(size_t)(s - p->text) + i];
    if (n)
        p->src = f->src[at + n - 1];
}

static const struct {
    MD_SPANTYPE type;
    unsigned style;
} span_styles[] = {
    {MD_SPAN_EM, STYLE_ITALIC}, {MD_SPAN_STRONG, STYLE_BOLD}, {MD_SPAN_DEL, STYLE_STRIKE},
    {MD_SPAN_CODE, STYLE_CODE}, {MD_SPAN_A, STYLE_UNDERLINE}, {MD_SPAN_IMG, STYLE_ITALIC},
};

static unsigned span_style(MD_SPANTYPE type)
{
    for (size_t i = 0; i < sizeof span_styles / sizeof *span_styles; i++)
        if (span_styles[i].type == type)
            return span_styles[i].style;
    return 0;
}

/* "5~7, 8~9": one tilde on each side makes a range, or a guess, more often than text struck through, and stays. s is
 * the first text within; between it and the tildes there are only marks of other spans. */
static void judge_strike(struct painter *p, const char *s)
{
    int span = p->struck - 1;
    p->struck = 0;
    if (s < p->text || s >= p->text + p->n)
        return;
    while (s > p->text && strchr("*_`[!<\\", s[-1]))
        s--;
    if (s == p->text || s[-1] != '~' || (s - 1 > p->text && s[-2] == '~'))
        return;
    p->tildes |= 1;
    unsigned around = span < MAX_SPANS ? p->styles[span] & STYLE_STRIKE : 0;
    for (int i = span + 1; i < p->n_spans && i < MAX_SPANS; i++)
        p->styles[i] = (p->styles[i] & ~(unsigned)STYLE_STRIKE) | around;
    p->style = (p->style & ~(unsigned)STYLE_STRIKE) | around;
    add(p, "~", 1, p->style);
}

static int enter_span(MD_SPANTYPE type, void *detail, void *ctx)
{
    struct painter *p = ctx;
    unsigned style = span_style(type);
    if (p->n_spans++ < MAX_SPANS)
        p->styles[p->n_spans - 1] = p->style;
    if (style & STYLE_ROLE)
        p->style &= ~(unsigned)STYLE_ROLE;
    p->style |= style;
    if (type == MD_SPAN_DEL) {
        p->struck = p->n_spans;
        p->tildes <<= 1;
    }
    bool has_address = type == MD_SPAN_A || type == MD_SPAN_IMG;
    if (has_address && p->n_links++ < MAX_LINKS) {
        struct link *link = &p->links[p->n_links - 1];
        const MD_ATTRIBUTE *href =
            type == MD_SPAN_A ? &((MD_SPAN_A_DETAIL *)detail)->href : &((MD_SPAN_IMG_DETAIL *)detail)->src;
        link->href = mem_new(1, href->size + 1);
        if (href->size)
            memcpy(link->href, href->text, href->size);
        link->start = target(p)->n;
    }
    return 0;
}

/* Adds the address after a link whose text differs from it: a terminal may not support hyperlinks. */
static void put_address(struct painter *p, struct link *link)
{
    const struct flow *f = target(p);
    const char *href = link->href, *shown = f->s ? f->s + link->start : "";
    size_t n = f->n - link->start;
    const char *bare = strncmp(href, "mailto:", 7) == 0   ? href + 7
                       : strncmp(href, "http://", 7) == 0 ? href + 7
                                                          : href;
    bool same = (strlen(href) == n && !memcmp(href, shown, n)) || (strlen(bare) == n && !memcmp(bare, shown, n));
    if (*href && !same) {
        add(p, " (", 2, STYLE_DIM);
        add(p, href, strlen(href), STYLE_DIM);
        add(p, ")", 1, STYLE_DIM);
    }
    free(link->href);
    link->href = NULL;
}

static int leave_span(MD_SPANTYPE type, void *detail, void *ctx)
{
    struct painter *p = ctx;
    (void)detail;
    p->style = --p->n_spans < MAX_SPANS ? p->styles[p->n_spans] : p->style & ~span_style(type);
    if (type == MD_SPAN_DEL) {
        p->struck = 0; /* the span may have had no text: an image without alt text */
        if (p->tildes & 1)
            add(p, "~", 1, p->style);
        p->tildes >>= 1;
    }
    if ((type == MD_SPAN_A || type == MD_SPAN_IMG) && --p->n_links < MAX_LINKS)
        put_address(p, &p->links[p->n_links]);
    return 0;
}

static const struct {
    const char *name, *text;
} entities[] = {
    {"&amp;", "&"},  {"&lt;", "<"},    {"&gt;", ">"},     {"&quot;", "\""},  {"&apos;", "'"},
    {"&nbsp;", " "}, {"&ndash;", "–"}, {"&mdash;", "—"},  {"&hellip;", "…"}, {"&copy;", "©"},
    {"&deg;", "°"},  {"&times;", "×"}, {"&middot;", "·"}, {"&rarr;", "→"},   {"&euro;", "€"},
};

static void add_entity(struct painter *p, const char *s, size_t n)
{
    char bytes[4];
    for (size_t i = 0; i < sizeof entities / sizeof *entities; i++)
        if (strlen(entities[i].name) == n && !memcmp(entities[i].name, s, n)) {
            add(p, entities[i].text, strlen(entities[i].text), p->style);
            return;
        }
    if (n < 4 || s[1] != '#') {
        add_source(p, s, n, p->style);
        return;
    }
    bool hex = s[2] == 'x' || s[2] == 'X';
    uint32_t cp = (uint32_t)strtoul(s + (hex ? 3 : 2), NULL, hex ? 16 : 10);
    /* &#27; must not reach the terminal as an escape. */
    char *clean = text_clean_string(bytes, text_encode(cp, bytes), true);
    add(p, clean, strlen(clean), p->style);
    free(clean);
}

static int on_text(MD_TEXTTYPE type, const MD_CHAR *s, MD_SIZE n, void *ctx)
{
    struct painter *p = ctx;
    if (p->struck)
        judge_strike(p, s);
    switch (type) {
    case MD_TEXT_BR:
    case MD_TEXT_SOFTBR: add(p, p->in_table ? " " : "\n", 1, p->style); break;
    case MD_TEXT_ENTITY: add_entity(p, s, n); break;
    case MD_TEXT_NULLCHAR: add(p, "\xef\xbf\xbd", 3, p->style); break;
    default: add_source(p, s, n, p->style);
    }
    return 0;
}

/* ---- public ---- */

const unsigned markdown_flags = MD_FLAG_PERMISSIVEAUTOLINKS | MD_FLAG_TABLES | MD_FLAG_STRIKETHROUGH |
                                MD_FLAG_TASKLISTS | MD_FLAG_NOHTML | MD_FLAG_NOINDENTEDCODEBLOCKS;

void markdown_layout(const char *raw, size_t from, size_t to, const struct markdown_options *options,
                     struct lines *out)
{
    const MD_PARSER parser = {
        .flags = markdown_flags,
        .enter_block = enter_block,
        .leave_block = leave_block,
        .enter_span = enter_span,
        .leave_span = leave_span,
        .text = on_text,
    };
    struct cleaned c;
    text_clean(raw + from, to - from, &c);
    char *text = mem_new(1, c.n + 1);
    memcpy(text, c.s, c.n);
    formula_hide(text, c.n);
    struct painter p = {.out = out,
                        .options = options,
                        .text = text,
                        .shown = c.s,
                        .n = c.n,
                        .origin = c.origin,
                        .base = (uint32_t)from,
                        .src = (uint32_t)from};
    md_parse(text, (MD_SIZE)c.n, &parser, &p);
    flow_free(&p.flow);
    table_free(&p.table);
    for (int i = 0; i < p.n_links && i < MAX_LINKS; i++) /* md4c ran out of memory within them */
        free(p.links[i].href);
    free(text);
    cleaned_free(&c);
}

/* A line of raw text without its end. */
struct raw_line {
    const char *s;
    size_t n, indent;
    bool blank;
};

static struct raw_line line_at(const char *raw, size_t n, size_t at)
{
    struct raw_line l = {.s = raw + at};
    while (at + l.n < n && l.s[l.n] != '\n')
        l.n++;
    while (l.indent < l.n && (l.s[l.indent] == ' ' || l.s[l.indent] == '\t' || l.s[l.indent] == '\r'))
        l.indent++;
    l.blank = l.indent == l.n;
    return l;
}

/* Returns the length of the code fence on a line that opens or could close a block, and its character; 0 = none. */
static size_t fence(const struct raw_line *l, char *mark)
{
    size_t n = 0;
    if (l->indent < l->n && l->indent < 4 && (l->s[l->indent] == '`' || l->s[l->indent] == '~'))
        *mark = l->s[l->indent];
    else
        return 0;
    while (l->indent + n < l->n && l->s[l->indent + n] == *mark)
        n++;
    if (*mark == '`' && memchr(l->s + l->indent + n, '`', l->n - l->indent - n))
        return 0; /* inline code */
    return n >= 3 ? n : 0;
}

static bool starts_item(const struct raw_line *l)
{
    size_t i = 0;
    if (l->n && strchr("-+*", l->s[0]))
        return l->n == 1 || l->s[1] == ' ' || l->s[1] == '\t';
    while (i < l->n && l->s[i] >= '0' && l->s[i] <= '9')
        i++;
    return i && (i == l->n || l->s[i] == '.' || l->s[i] == ')');
}

size_t markdown_closed(const char *raw, size_t n, size_t from)
{
    size_t closed = from, open_fence = 0;
    char open_mark = 0;
    bool blank_before = false;
    for (size_t at = from; at < n;) {
        struct raw_line l = line_at(raw, n, at);
        char mark = 0;
        size_t marks = fence(&l, &mark);
        bool complete = at + l.n < n; /* "1" may yet become "1." */
        if (open_fence) {
            if (marks >= open_fence && mark == open_mark)
                open_fence = 0;
        } else {
            /* An item or an indented line after an empty line may continue the list before. */
            if (blank_before && !l.blank && !l.indent && complete && !starts_item(&l))
                closed = at;
            if (marks) {
                open_fence = marks;
                open_mark = mark;
            }
        }
        blank_before = l.blank;
        at += l.n + 1;
    }
    return closed;
}
