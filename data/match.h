/*
 * match.h - matches a search query against texts. Pure functions.
 *
 * A query is split at white space; every term must occur, as a substring, in any script; case and the encoding of
 * accents do not matter (../src/base/fold.h). Only the first MATCH_MAX_TERMS terms of a query count.
 */
#ifndef MATCH_H
#define MATCH_H

#include <stdbool.h>
#include <stddef.h>

#define MATCH_MAX_TERMS 64

struct fold_term;

struct match_term {
    const char *start; /* in the query, not NUL-terminated */
    size_t len;
    size_t units; /* see fold_term_units */
    struct fold_term *fold;
};

struct match_query {
    struct match_term *terms;
    size_t n;
};

struct match_query match_parse(const char *query); /* query must outlive it */
void match_free(struct match_query *q);

/* The byte offset at which the term first occurs in text, or -1. */
ptrdiff_t match_find(const struct match_term *term, const char *text, size_t text_len);

/* Returns one line of the text around byte `at`: runs of white space and control characters become one blank, graphemes
 * stay whole, and an ellipsis marks what is left out. malloc'd. */
char *match_excerpt(const char *text, size_t text_len, size_t at);

#endif
