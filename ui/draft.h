/*
 * draft.h - the editor of what is being written: several lines, soft wrap, kill and yank, earlier prompts. No curses.
 *
 * The text is always valid UTF-8, its lines end with '\n'; the caret is a byte offset at a grapheme boundary. Used
 * for the draft and, without history, for the one-line questions (a name, a search, a value).
 */
#ifndef UI_DRAFT_H
#define UI_DRAFT_H

#include "../src/base/buffer.h"
#include "lines.h"

#include <stdbool.h>
#include <stddef.h>

struct history { /* earlier prompts, oldest first */
    char **v;
    size_t n, cap;
};
void history_add(struct history *h, const char *prompt); /* the same as the last one is not added again */
void history_clear(struct history *h);                   /* and frees */

struct draft {
    struct buffer text;
    size_t caret;
    int goal;           /* column Up and Down keep to, -1 = the caret's */
    bool literal;       /* the text began with a paste: a slash there begins no command */
    struct buffer kill; /* what was cut last */
    bool kill_literal;
    size_t at_prompt; /* which earlier prompt is shown, counted from the newest; 0 = the text being written */
    struct edited {   /* texts that were left by draft_history and differ from the history, that at 0 always */
        size_t at;
        char *text;
        bool literal;
    } * edited;
    size_t n_edited, cap_edited;
    int top;                     /* first row in view */
    struct draft_layout *layout; /* the last one made, NULL: none that is still right; for this width and caret */
    int layout_width;
    size_t layout_caret;
};

void draft_init(struct draft *d);
void draft_free(struct draft *d);
void draft_set(struct draft *d, const char *text); /* as the text being written; caret at the end */
void draft_replace(struct draft *d, const char *s,
                   size_t n);                                /* the same, but an earlier prompt shown stays the one */
void draft_insert(struct draft *d, const char *s, size_t n); /* any bytes: made valid */
void draft_paste(struct draft *d, const char *s, size_t n);  /* the same, not typed */
const char *draft_text(const struct draft *d);

enum draft_move {
    DRAFT_LEFT,
    DRAFT_RIGHT,
    DRAFT_WORD_LEFT,
    DRAFT_WORD_RIGHT,
    DRAFT_LINE_START,
    DRAFT_LINE_END,
    DRAFT_START,
    DRAFT_END,
};
void draft_move(struct draft *d, enum draft_move to);
void draft_delete(struct draft *d, enum draft_move to); /* what lies between; a single character is not kept */
void draft_kill(struct draft *d, enum draft_move to);   /* the same, kept for draft_yank */
void draft_yank(struct draft *d);

/* Up or down one row of the layout of that width. False at the edge. */
bool draft_vertical(struct draft *d, int direction, int width);
/* To an earlier (-1) or later (1) prompt; false if there is none. What was edited in each is kept, as the text being
 * written is, until draft_forget_edits or draft_free. */
bool draft_history(struct draft *d, const struct history *h, int direction);
/* Shows h->v[index] as the first function would after enough steps. */
void draft_recall(struct draft *d, const struct history *h, size_t index);
void draft_forget_edits(struct draft *d); /* the history is another one: what is shown is the text being written */
/* Cuts all there is. Where an earlier prompt was shown, the text being written comes back. */
void draft_clear(struct draft *d);

/* ---- layout ---- */

struct draft_layout {
    struct lines lines; /* every row, clean */
    int caret_row, caret_column;
};
/* Owned by the draft, valid until it changes or another width is asked for. */
const struct draft_layout *draft_layout(struct draft *d, int width);

#endif
