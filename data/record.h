/*
 * record.h - copies and ends of the structs of store.h, and the room's small allocations.
 *
 * Allocation failure ends the program with one line: what is allocated here is no larger than what a person typed or
 * a model wrote, and there is no going on without it.
 */
#ifndef RECORD_H
#define RECORD_H

#include "store.h"

void *store_calloc(size_t n, size_t size); /* zeroed */
char *store_strdup(const char *s);         /* NULL stays NULL */
char *store_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Room for element n of an array that grows one by one (capacity doubles at powers of two); new elements are
 * zeroed. */
void *store_grow(void *array, size_t n, size_t size);

int64_t store_now_ms(void); /* since 1970 */
/* Of the clock that pthread_cond_timedwait uses here: one that nobody sets, where the system lets us choose. */
int64_t store_ticks_ms(void);
#ifdef __APPLE__
#define STORE_TICKS CLOCK_REALTIME
#else
#define STORE_TICKS CLOCK_MONOTONIC
#endif

struct store_conversation record_copy_conversation(const struct store_conversation *c);
struct store_message record_copy_message(const struct store_message *m);
struct store_summary record_copy_summary(const struct store_summary *s);

/* Free what the struct points to, not the struct. */
void record_end_conversation(struct store_conversation *c);
void record_end_message(struct store_message *m);
void record_end_summary(struct store_summary *s);

struct store_event *record_event(enum store_event_type type, char *text); /* takes text */
void record_end_event(struct store_event *e);                             /* its contents; the type stays */

#endif
