/*
 * summary.h - what stands in the prompt for turns that no longer fit: asking for it, distrusting it, replacing it.
 *
 * A very small model often cannot summarize: it repeats itself or invents numbers. So what it writes is checked against
 * its source, and where it fails an extract of the turns, made without any model, takes its place. Pure functions.
 */
#ifndef SUMMARY_H
#define SUMMARY_H

#include <stdbool.h>
#include <stddef.h>

struct summary_turn {
    bool answer;      /* the assistant's, else the person's */
    const char *text;
    size_t len;
};

/* The request put after the live context; English or Chinese, after the language of the turns. */
const char *summary_request(const struct summary_turn *turns, size_t n);

/* Whether a summary is usable: not empty, does not repeat itself, every number in it (and, in a Latin script, every
 * capitalised name inside a sentence) occurs in the turns or in the earlier summary. reason gets a few words if not. */
bool summary_check(const char *summary, const char *earlier, const struct summary_turn *turns, size_t n, char *reason,
                   size_t cap);

/* A summary without a model: the earlier summary's facts, then the sentences of the turns that carry names, numbers, dates and
 * quoted strings, the person's first, in order, at most max_bytes. malloc'd. */
char *summary_extract(const char *earlier, const struct summary_turn *turns, size_t n, size_t max_bytes);

/* The text that carries a summary in the prompt. malloc'd. */
char *summary_wrap(const char *summary);

#endif
