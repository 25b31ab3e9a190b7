/*
 * record.h - copies and frees the structs of store.h.
 */
#ifndef RECORD_H
#define RECORD_H

#include "store.h"

struct store_conversation record_copy_conversation(const struct store_conversation *c);
struct store_message record_copy_message(const struct store_message *m);
struct store_summary record_copy_summary(const struct store_summary *s);
struct store_draft record_copy_draft(const struct store_draft *d);

/* Free what the struct points to, not the struct. */
void record_end_conversation(struct store_conversation *c);
void record_end_message(struct store_message *m);
void record_end_summary(struct store_summary *s);
void record_end_draft(struct store_draft *d);

struct store_event *record_event(enum store_event_type type, char *text); /* takes text */
void record_end_event(struct store_event *e);                             /* its contents; the type stays */

#endif
