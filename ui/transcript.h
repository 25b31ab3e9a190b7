/*
 * transcript.h - the entries of the conversation, laid out for a width, and the part of them in view. No curses.
 *
 * Rows: each entry is a header (a notice has none), a row for what was thought before an answer and, unfolded, the
 * thought itself, its text indented by TRANSCRIPT_INDENT or a row that waits for it, maybe a footnote, and an empty
 * row. Layout is done when a row is first asked for and kept until text or width change; of a growing entry only the
 * open block is done again. The view follows the tail, or stays with the text at its top, whatever arrives and
 * however the size changes.
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
    int number, count;  /* of several answers to one question: which, of how many; 0 = the only one */
    struct buffer text; /* raw: the thought, then the answer */
    size_t thought;     /* bytes of text that are the thought */
    struct ui_thought thinking;
    bool revealed;          /* what is searched for is in the thought: unfolded while it is */
    struct buffer footnote; /* clean; empty = none */
    bool finished;          /* no more pieces: laid out as a whole. So is what was added with text, until it grows */
    struct lines lines;     /* valid if laid_width is the width */
    int laid_width;         /* 0 = not laid out */
    bool laid_unfolded;
    size_t laid_n;       /* bytes of text the lines show */
    size_t closed;       /* text before this is laid out for good ... */
    size_t closed_lines; /* ... in the first this many lines */
};

/* A place in the transcript that survives another layout. */
struct anchor {
    size_t entry;
    enum { ANCHOR_HEADER, ANCHOR_TEXT, ANCHOR_END } part;
    uint32_t src; /* ANCHOR_TEXT: offset of the row's first text */
    size_t extra; /* rows from there, where several share it; of ANCHOR_HEADER: from the first */
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
    struct anchor top; /* of the view; meaningful when not following */
    size_t seen_entry; /* the tail as it was when the view left it */
    size_t seen_text;
    struct buffer find;    /* what is highlighted; empty = nothing */
    struct match current;  /* the match moved to */
    size_t current_number; /* of it, from 1; 0 = none */
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

/* Shows what was thought, the last thought from its beginning, or folds it away again. False: there is none yet. */
bool transcript_unfold(struct transcript *t, bool unfolded);
bool transcript_is_unfolded(const struct transcript *t, const struct entry *e);
bool transcript_is_thinking(const struct entry *e); /* its thought goes on */

/* Makes the rows of the view: rows[0..height). */
void transcript_view(struct transcript *t, struct row *rows);
/* Rows that came since the view left the tail. */
size_t transcript_unseen(struct transcript *t);

void transcript_scroll(struct transcript *t, long rows); /* negative: towards the beginning */
void transcript_home(struct transcript *t);
void transcript_end(struct transcript *t); /* follow again */
/* To the header of the entry before (-1) or after (1). */
void transcript_previous(struct transcript *t, int direction);

/* Highlights a text and moves to its last match, or to the next older (-1) or newer (1) one. Returns how many there
 * are; `at` (may be NULL) gets the number of the present one from 1. */
size_t transcript_find(struct transcript *t, const char *needle, int direction, size_t *at);
void transcript_find_clear(struct transcript *t);

/* The part of a line's text that matches: bytes within the line. False: no more from `from` on. */
bool transcript_match(const struct transcript *t, const struct entry *e, size_t line, size_t from, size_t *start,
                      size_t *end);

#endif
