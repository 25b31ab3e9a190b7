/*
 * worker_recall.h - what the worker knows by heart about messages and conversations, so that each prompt extends the
 * one before.
 *
 * Of a message (by id): the tokens it was written with, if it was written here; how many tokens it takes; the shorter
 * text that stands for it where it is too large for the window. Each is given out only for the text it was stored
 * with. Of a conversation: the newest summary made here and the last message it covers, because jobs queued before it
 * was made still bring all of the messages. All of it belongs to the worker's thread.
 */
#ifndef WORKER_RECALL_H
#define WORKER_RECALL_H

#include "../engine/engine.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct recall;

struct recall *recall_new(void);
void recall_free(struct recall *m);

/* Forgets all that was said in tokens: another model has other ones. */
void recall_forget_tokens(struct recall *m);

struct remembered { /* one message; changed by the recall_set_... below only */
    int64_t id;
    uint64_t text_hash; /* of the text this holds for; white space at its ends does not count */
    int32_t *ids;       /* as it was written, or NULL */
    size_t n_ids;
    int n_tokens; /* of ids or of the text (cut where it is), without the template; -1 = not counted yet */
    char *cut;    /* stands for the text in every prompt, or NULL */
};

/* Between two jobs: forgets the oldest messages where there are very many. */
void recall_trim(struct recall *m);

/* The entry of the message, made where there is none, emptied where it was for another text. Valid until the next
 * call; what it points to until it is emptied, or recall_trim. */
struct remembered *recall_message(struct recall *m, int64_t id, const char *text, size_t len);
void recall_set_ids(struct remembered *r, const int32_t *ids, size_t n); /* as it was written here; copied */
void recall_set_count(struct remembered *r, int n_tokens);               /* of the text */
void recall_set_cut(struct remembered *r, char *cut, int n_tokens);      /* takes cut, which has so many tokens */

/* What was summarized of a conversation: the text, and the last id it covers. NULL: nothing. */
const char *recall_summary(const struct recall *m, int64_t conversation, int64_t *last);
void recall_set_summary(struct recall *m, int64_t conversation, int64_t last, const char *text);

#endif
