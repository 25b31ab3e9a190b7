/*
 * window.h - the plan of the context window: what of a long conversation the model sees. Pure functions, no engine.
 *
 * The prompt is [system] [summary] [verbatim tail]. Between two compactions each prompt extends the one before token
 * for token, so the KV cache is never thrown away; only what a model thought before its last answer goes from it
 * again. Compaction starts at WINDOW_SOFT of the window when idle, is forced at WINDOW_HARD, and aims at WINDOW_GOAL.
 */
#ifndef WINDOW_H
#define WINDOW_H

#include <stdbool.h>
#include <stddef.h>

#define WINDOW_SOFT 0.70
#define WINDOW_HARD 0.85
#define WINDOW_GOAL 0.50

/* Tokens the plan works with. */
struct window_costs {
    int n_ctx;             /* the window */
    int fixed;             /* system prompt, summary, template around them, the next answer's header */
    int summary;           /* of these, the present summary's: a new one takes its place */
    const int *messages;   /* each message of the verbatim tail, template included, oldest first */
    const bool *is_answer; /* of each: an assistant's message */
    size_t n_messages;
    int reserve;     /* room kept for the answer */
    int summary_max; /* most tokens a new summary may take */
};

enum window_action {
    WINDOW_KEEP,    /* all fits */
    WINDOW_COMPACT, /* summarize the first `cover` messages, keep the rest */
};

struct window_plan {
    enum window_action action;
    size_t cover; /* messages from the front to be summarized: whole turns, never the last message; 0 to keep */
    int used;     /* tokens of the prompt if nothing is done */
};

/* The plan for the next prompt. idle: nobody is waiting, so the soft limit counts; otherwise the hard one, and the
 * room for the answer. Where no compaction can gain anything the plan is to keep, though it may not fit: the caller
 * looks at `used`. */
struct window_plan window_plan(const struct window_costs *costs, bool idle);

/* Cuts a message too large for the window in its middle: keeps head and tail of text at whole UTF-8 sequences (and
 * line ends where one is near), at most max_bytes with the mark that stands between them. A new string, for free(). A
 * text that is no longer comes back whole; where not even the mark has room, the head alone. */
char *window_cut_middle(const char *text, size_t len, size_t max_bytes);

#endif
