/*
 * outbox.h - messages that a person has sent and that wait for their turn: a queue of texts, oldest first.
 *
 * A message goes in with outbox_add and comes out with outbox_take_first, when it is its turn, or with
 * outbox_take_last, when the person wants to edit it again. Texts are copied on the way in; the caller frees what is
 * taken out.
 */
#ifndef OUTBOX_H
#define OUTBOX_H

#include <stddef.h>

struct outbox {
    char **texts;
    size_t n;
};

void outbox_add(struct outbox *o, const char *text);
char *outbox_take_first(struct outbox *o); /* NULL: empty */
/* The newest message with this text; NULL: there is none. */
char *outbox_take_last(struct outbox *o, const char *text);
void outbox_free(struct outbox *o); /* what is left in it; the struct is empty afterwards */

#endif
