/*
 * lookup.h - drafts for lookup decoding: what followed the last words of the context when they stood there before,
 * and whether it pays to evaluate it along with the next token.
 *
 * Drafts are guesses: the session evaluates them in one batch and keeps what its sampler says anyway, so nothing here
 * can change an answer, only its speed. Whether guesses are good is learned from every token, drafted or not; what a
 * batch costs is learned from the times measured. What drafts may lose is bounded by a budget (see lookup.c),
 * whatever the estimates say.
 *
 * Belongs to its session's thread.
 */
#ifndef LOOKUP_H
#define LOOKUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOOKUP_MAX 15 /* tokens of a draft */

struct lookup;

struct lookup *lookup_open(int n_ctx);
void lookup_close(struct lookup *l); /* NULL is fine */

/* Forgets all but the first n tokens. Costs as much as adding those forgotten did. */
void lookup_truncate(struct lookup *l, size_t n);

/* Learns the tokens of the context, of n tokens, beyond those it knows; they are not judged. */
void lookup_follow(struct lookup *l, const int32_t *context, size_t n);

/* What will probably follow the context, at most `most` tokens and none that ends the text: the number that pays,
 * which may be 0. */
int lookup_draft(struct lookup *l, int most, bool (*ends)(const void *ctx, int32_t id), const void *ctx,
                 int32_t draft[static LOOKUP_MAX]);

/* The next token was sampled and appended to the context; `drafted` if it came out of an evaluated draft. */
void lookup_sampled(struct lookup *l, int32_t id, bool drafted);

/* Evaluating n tokens, 1 + those of the draft, took so long. */
void lookup_measured(struct lookup *l, int n, double ms);

/* For tests: drafts as many tokens as match, whatever they cost. */
void lookup_always(struct lookup *l, bool always);

#endif
