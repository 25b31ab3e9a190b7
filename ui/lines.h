/*
 * lines.h - text laid out: styled lines ready to be drawn, and the flow of text they are made from. No curses.
 */
#ifndef UI_LINES_H
#define UI_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Style of a piece of text: attribute bits, and one colour role. screen.c maps them to terminal attributes. */
enum style {
    STYLE_BOLD = 1 << 0,
    STYLE_ITALIC = 1 << 1,
    STYLE_UNDERLINE = 1 << 2,
    STYLE_REVERSE = 1 << 3,
    STYLE_DIM = 1 << 4,
    STYLE_STRIKE = 1 << 5,
    /* Colour roles, one at a time. */
    STYLE_CODE = 1 << 8,
    STYLE_HEADING = 2 << 8,
    STYLE_QUOTE = 3 << 8,
    STYLE_PERSON = 4 << 8,
    STYLE_MODEL = 5 << 8,
    STYLE_NOTICE = 6 << 8,
    STYLE_WARNING = 7 << 8,
    STYLE_MATCH = 8 << 8,
    STYLE_CURRENT_MATCH = 9 << 8,
    STYLE_ROLE = 0xff00,
};

struct text_run {
    uint32_t start, len; /* bytes of lines.text */
    uint16_t style;
};

struct line {
    uint32_t span, n_spans; /* in lines.spans */
    uint32_t text, len;     /* all its text, in lines.text */
    uint32_t src;           /* offset of its beginning in the text it was laid out from */
    uint16_t width;         /* cells */
    uint8_t joins;          /* 0: starts a paragraph; 1: continues the previous line; 2: continues it after a space */
    uint8_t margin;         /* leading bytes that are indentation or markers, not text */
};

/* A list of lines; zero-initialize it. lines_put appends to the open line, lines_end closes that line. */
struct lines {
    char *text;
    size_t n_text, cap_text;
    struct text_run *spans;
    size_t n_spans, cap_spans;
    struct line *v;
    size_t n, cap;
    struct line open; /* the line being built */
    bool building;
};

void lines_put(struct lines *l, const char *s, size_t n, unsigned style); /* clean text without newlines */
void lines_margin(struct lines *l); /* marks the text put so far as the margin */
void lines_end(struct lines *l, uint32_t src, unsigned joins);
void lines_truncate(struct lines *l, size_t n); /* keeps the first n */
void lines_free(struct lines *l);

/* A paragraph before it is wrapped: text with a style and a source offset for each byte. */
struct flow {
    char *s;
    uint16_t *style;
    uint32_t *src;
    size_t n, cap_s, cap_style, cap_src;
};

/* Appends clean text. src: source offset of its first byte. Each further byte adds 1, unless fixed: then all have src. */
void flow_add(struct flow *f, const char *s, size_t n, unsigned style, uint32_t src, bool fixed);
void flow_clear(struct flow *f);
void flow_free(struct flow *f);
void flow_put(const struct flow *f, size_t start, size_t end, struct lines *out); /* to the open line */

/* Cleans raw text and appends it. */
void flow_add_raw(struct flow *f, const char *s, size_t n, unsigned style);

/*
 * Wrapping: breaks as Unicode has them (UAX 14, so no ，or 。begins a line), else between graphemes. Spaces at a
 * break hang outside the line.
 */
struct wrap {
    const char *s;
    size_t n, at;
    char *breaks;  /* of u8_possible_linebreaks */
    bool verbatim; /* code: breaks only where the line is full, keeps its spaces */
    bool done;
};

struct wrap_piece {
    size_t start, end; /* what is drawn */
    size_t next;       /* where the next piece begins; hanging spaces and the newline lie between */
    int width;
    bool hard; /* ended by a newline or the end of the text */
};

void wrap_begin(struct wrap *w, const char *s, size_t n, bool verbatim); /* s must outlive w */
bool wrap_next(struct wrap *w, int width, struct wrap_piece *piece);     /* an empty text has one empty piece */
void wrap_end(struct wrap *w);

/* Wraps a flow into lines of at most width cells, each after the margin (clean text, may be ""). */
void flow_wrap(const struct flow *f, int width, bool verbatim, const char *margin, unsigned margin_style,
               struct lines *out);

#endif
