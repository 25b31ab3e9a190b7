/*
 * store_structs.h - deep copies of the structs of store.h, and freeing them. Only the data room includes it.
 */
#ifndef STORE_STRUCTS_H
#define STORE_STRUCTS_H

#include "store.h"

/* Each copies the struct and the strings it points to. A message's or summary's NULL text becomes "". */
struct store_conversation store_copy_conversation(const struct store_conversation *c);
struct store_message store_copy_message(const struct store_message *m);
struct store_summary store_copy_summary(const struct store_summary *s);
struct store_draft store_copy_draft(const struct store_draft *d);

/* Each frees the strings that the struct points to, not the struct. */
void store_clear_conversation(struct store_conversation *c);
void store_clear_message(struct store_message *m);
void store_clear_summary(struct store_summary *s);
void store_clear_draft(struct store_draft *d);

struct store_event *store_event_new(enum store_event_type type, char *text); /* owns text from then on */
void store_event_clear(struct store_event *e); /* frees its contents and keeps the type */

#endif
