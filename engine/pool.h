/*
 * pool.h - a team of threads that run one function together, with barriers inside it.
 *
 * The calling thread is member 0 and works too. Between runs the others spin briefly, then sleep (futex, or a
 * condition variable where there is none), so an idle pool uses no CPU. The pool's threads block all signals but the
 * five faults (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT): those stay deliverable, because whoever drew on the
 * terminal has a handler that gives it back before the end.
 */
#ifndef POOL_H
#define POOL_H

#include <stddef.h>

struct pool;

struct pool *pool_open(int threads); /* fewer if the system refuses; at least the caller itself. Never NULL */
void pool_close(struct pool *pool);  /* NULL is fine */
int pool_threads(const struct pool *pool);

/* Runs work(ctx, member, members) on every member at once and returns when all have returned. */
void pool_run(struct pool *pool, void (*work)(void *ctx, int member, int members), void *ctx);

/* Inside work: returns when every member has called it. What was written before is visible after. */
void pool_barrier(struct pool *pool);

/* The same; whoever has to wait spends the time fetching these bytes, which it will read next, into its cache. */
void pool_barrier_fetch(struct pool *pool, const void *next, size_t bytes);

#endif
