/*
 * summary.h - what stands in the prompt for turns that no longer fit: asking for it, distrusting it, replacing it.
 *
 * A very small model often cannot summarize: it repeats itself or invents numbers. So what it writes is checked
 * against its source, and where it fails an extract of the turns, made without any model, takes its place. Pure
 * functions.
 */
#ifndef SUMMARY_H
#define SUMMARY_H

#include "language.h"

#include <stdbool.h>
#include <stddef.h>

struct summary_turn {
    bool answer; /* the assistant's, else the person's */
    const char *text;
    size_t len;
};

/* The language of most turns; the person's count twice. */
enum language summary_language(const struct summary_turn *turns, size_t n);

/* The request put after the live context, in the language of the turns. A static string. */
const char *summary_request(const struct summary_turn *turns, size_t n);

/* A model's summary without chatter: sentences addressed to the person ("I'm glad you liked it!", "Let me know ..."), and
 * sentences that share no word with the turns or the earlier summary (NULL: none). malloc'd; "" where nothing is left. */
char *summary_drop_chatter(const char *summary, const char *earlier, const struct summary_turn *turns, size_t n);

/* Whether a summary is usable: not empty, in the language of the turns, does not repeat itself, is no copy of an answer,
 * has words in common with its source, and every number in it (and, in a Latin script, every capitalised name inside a
 * sentence) occurs in the turns or in the earlier summary (NULL: none). A number may be written otherwise there: 1,500 or
 * 1500, March or 3, twenty or 20 or 二十. reason gets a few words if not. */
bool summary_check(const char *summary, const char *earlier, const struct summary_turn *turns, size_t n, char *reason,
                   size_t cap);

/* Whether a text being written has come to say the same words again and again, so that reading on is a waste of
 * time. */
bool summary_loops(const char *text, size_t len);

/* The source of a summary, taken apart once: lines of the earlier summary (NULL: none) and sentences of the turns, each
 * ranked by what it tells. The time is linear in the text. stop (may be NULL) is called every few sentences; once it
 * returns true the work is given up and NULL is returned. The texts need not outlive the call. */
struct summary_source;
struct summary_source *summary_source_new(const char *earlier, const struct summary_turn *turns, size_t n,
                                          bool (*stop)(void *ctx), void *ctx);
void summary_source_free(struct summary_source *s); /* NULL is fine */

/* A summary without a model: the sentences that carry names, numbers, dates and quoted strings, the person's first in rank
 * and what they say of themselves ("my name is") before all; in order, one a line, at most max_bytes of valid UTF-8. Not
 * empty where the source is not and 16 bytes are allowed. The same input gives the same text. malloc'd. */
char *summary_extract(struct summary_source *s, size_t max_bytes);

/* A model's summary with the lines of an extract in front that must not be lost and that it lost: what the person says of
 * themselves, or with several names or numbers, and a line for each topic of the person's that it drops whole. At most
 * max_bytes, of which these lines take three quarters where there are so many. malloc'd. */
char *summary_complete(struct summary_source *s, const char *summary, size_t max_bytes);

/* The text that carries a summary in the prompt, in front of the person's first message that is still there.
 * malloc'd. */
char *summary_wrap(const char *summary);

#endif
