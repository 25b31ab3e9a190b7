/*
 * transcript.h - the entries of the conversation, laid out for a width, and the part of them in view. No curses.
 *
 * Rows of an entry: a header (notices have none), a row for the thought before an answer and, if unfolded, the thought
 * itself, then the text indented by TRANSCRIPT_INDENT or a placeholder while there is none, an optional footnote, and
 * an empty row. An entry is laid out when one of its rows is first needed; the layout is cached until text or width
 * change. While an entry grows, only its last open block is laid out again. The view either follows the tail or stays
 * anchored to the text at its top, whatever arrives and however the size changes.
 */
#ifndef UI_TRANSCRIPT_H
#define UI_TRANSCRIPT_H

#include "../src/base/buffer.h"
#include "lines.h"
#include "ui.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRANSCRIPT_INDENT 2

struct entry {
    int64_t id;
    enum ui_role role;
    int64_t time_ms;
    int number, count;  /* this is answer `number` of `count` to the same question; 0 = the only one */
    struct buffer text; /* raw: the thought, then the answer */
    size_t thought;     /* bytes of text that are the thought */
    struct ui_thought thinking;
    bool revealed;          /* the thought contains the search text: shown unfolded during the search */
    struct buffer footnote; /* clean; empty = none */
    bool finished;          /* complete, or added with text and not grown since: laid out as complete Markdown */
    struct lines lines;     /* valid if laid_width is the width */
    int laid_width;         /* 0 = not laid out */
    bool laid_unfolded;
    size_t laid_n;       /* bytes of text the lines show */
    size_t closed;       /* the layout of the text before this offset is final ... */
    size_t closed_lines; /* ... and takes this many lines */
};

/* A position in the transcript that stays valid when the layout changes. */
struct anchor {
    size_t entry;
    enum { ANCHOR_HEADER, ANCHOR_TEXT, ANCHOR_END } part;
    uint32_t src; /* ANCHOR_TEXT: offset of the row's first text */
    size_t extra; /* rows below the first row with that src; ANCHOR_HEADER: below the header */
};

/* A match of the text searched for. */
struct match {
    size_t entry, line; /* the line it begins in */
    size_t start;       /* byte within that line */
};

struct transcript {
    struct entry *v;
    size_t n, cap;
    int width, height; /* of the view, in cells and rows */
    bool ascii;
    bool unfolded;     /* thoughts are */
    bool following;    /* the view is at the tail and stays there */
    struct anchor top; /* of the view; unused while following */
    size_t seen_entry; /* the last entry and its text length when the view left the tail */
    size_t seen_text;
    struct buffer find;    /* search text to highlight; empty = none */
    struct match current;  /* the match moved to */
    size_t current_number; /* number of the current match, from 1; 0 = none */
    size_t n_matches;
};

/* One row to be drawn. */
struct row {
    const struct entry *entry; /* NULL: beyond the end */
    size_t index;              /* of the entry */
    enum { ROW_HEADER, ROW_THOUGHT, ROW_TEXT, ROW_WAITING, ROW_FOOTNOTE, ROW_EMPTY } kind;
    const struct line *line; /* ROW_TEXT */
    size_t number;           /* ROW_TEXT: index of the line in entry->lines */
    bool last;               /* ROW_TEXT: the last of its entry */
};

void transcript_init(struct transcript *t);
void transcript_free(struct transcript *t);
void transcript_clear(struct transcript *t);

void transcript_add(struct transcript *t, int64_t id, enum ui_role role, const char *text, size_t n, int64_t time_ms);
bool transcript_append(struct transcript *t, int64_t id, const char *piece, size_t n); /* false: no such entry */
bool transcript_append_thought(struct transcript *t, int64_t id, const struct ui_thought *thought, const char *piece,
                               size_t n);
bool transcript_finish(struct transcript *t, int64_t id, const char *footnote);
void transcript_set_alternative(struct transcript *t, int64_t id, int number, int count);
void transcript_set_time(struct transcript *t, int64_t id, int64_t time_ms);
void transcript_remove(struct transcript *t, int64_t id);
struct entry *transcript_last(struct transcript *t, enum ui_role role); /* NULL: none */

void transcript_resize(struct transcript *t, int width, int height);

/* Unfolds all thoughts and scrolls to the start of the last one, or folds them. False: there are no thoughts. */
bool transcript_unfold(struct transcript *t, bool unfolded);
bool transcript_is_unfolded(const struct transcript *t, const struct entry *e);
bool transcript_is_thinking(const struct entry *e); /* its thought is still being written */

/* Fills rows[0..height) with the rows in view. */
void transcript_view(struct transcript *t, struct row *rows);
/* Rows added since the view left the tail. */
size_t transcript_unseen(struct transcript *t);

void transcript_scroll(struct transcript *t, long rows); /* negative: up */
void transcript_home(struct transcript *t);
void transcript_end(struct transcript *t); /* follows the tail again */
/* Moves to the header of the previous (-1) or next (1) entry. */
void transcript_previous(struct transcript *t, int direction);

/* Highlights needle and moves to its last match, or to the next older (-1) or newer (1) one. Returns the number of
 * matches; `at` (may be NULL) receives the number of the current match, from 1. */
size_t transcript_find(struct transcript *t, const char *needle, int direction, size_t *at);
void transcript_find_clear(struct transcript *t);

/* Finds the next match in a line at or after byte `from`: start and end are bytes within the line. False: none. */
bool transcript_match(const struct transcript *t, const struct entry *e, size_t line, size_t from, size_t *start,
                      size_t *end);

#endif
