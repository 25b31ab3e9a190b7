/*
 * pool.c - see pool.h.
 *
 * Two words are waited for: `run` (a new run begins) and `round` (a barrier opens). A waiter spins for a bounded
 * time, because a token of a small model has some 150 barriers a few microseconds apart and waking from a futex costs
 * ten times that; then it sleeps, because the core may belong to somebody else. Where there are more members than
 * cores spinning only keeps the awaited member from running, so there the waiter yields instead.
 */
#include "pool.h"

#include "../src/base/clock.h"
#include "../src/base/mem.h"
#include "../src/base/thread.h"
#include "cpu.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#ifdef __linux__
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

/* Bounds of the time spun for. It is halved when spinning was in vain, because then somebody else wants the cores and
 * would only be kept from finishing, and doubled when it was not. The upper one is longer than the pause between
 * tokens. */
#define SPIN_MAX_NS 100000
#define SPIN_MIN_NS 2000
#define SPIN_BATCH 64 /* looks at the word between two looks at the clock */
#define LINE 64       /* bytes fetched between two looks at the word */
#define YIELDS 200    /* instead of spinning, with more members than cores */

struct signal_word {
    _Alignas(64) _Atomic uint32_t value; /* changes when waiters may go on */
    _Atomic int sleepers;                /* waiters that must be woken by the system */
};

struct pool {
    struct signal_word run;                           /* number of runs begun */
    struct signal_word round;                         /* number of barriers passed */
    _Alignas(64) _Atomic int arrived;                 /* members at the present barrier */
    _Alignas(64) int members;                         /* the caller included */
    bool crowded;                                     /* more members than cores */
    bool closing;                                     /* written before the last change of run */
    void (*work)(void *ctx, int member, int members); /* of the present run */
    void *ctx;
    pthread_t *threads; /* of members 1 and up */
#ifndef __linux__
    pthread_mutex_t mutex; /* stand in for the futex */
    pthread_cond_t changed;
#endif
};

struct start { /* what a new thread is told */
    struct pool *pool;
    int member;
};

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb");
#endif
}

#ifdef __linux__
static void sleep_while(struct pool *pool, struct signal_word *w, uint32_t value)
{
    (void)pool;
    syscall(SYS_futex, &w->value, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void wake_all(struct pool *pool, struct signal_word *w)
{
    (void)pool;
    syscall(SYS_futex, &w->value, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}
#else
static void sleep_while(struct pool *pool, struct signal_word *w, uint32_t value)
{
    pthread_mutex_lock(&pool->mutex);
    while (atomic_load(&w->value) == value)
        pthread_cond_wait(&pool->changed, &pool->mutex);
    pthread_mutex_unlock(&pool->mutex);
}

static void wake_all(struct pool *pool, struct signal_word *w)
{
    (void)w;
    pthread_mutex_lock(&pool->mutex);
    pthread_cond_broadcast(&pool->changed);
    pthread_mutex_unlock(&pool->mutex);
}
#endif

static bool changed(struct signal_word *w, uint32_t value)
{
    return atomic_load_explicit(&w->value, memory_order_acquire) != value;
}

static _Thread_local int64_t patience = SPIN_MAX_NS; /* ns to spin next time */

static bool spun(bool in_vain)
{
    patience = in_vain ? patience / 2 : patience * 2;
    if (patience < SPIN_MIN_NS)
        patience = SPIN_MIN_NS;
    if (patience > SPIN_MAX_NS)
        patience = SPIN_MAX_NS;
    return !in_vain;
}

/* True when the word changed while we were still awake. */
static bool spin_while(const struct pool *pool, struct signal_word *w, uint32_t value, const char *next,
                       const char *end)
{
    if (pool->crowded) {
        for (int i = 0; i < YIELDS; i++) {
            if (changed(w, value))
                return true;
            sched_yield();
        }
        return false;
    }
    int64_t give_up = 0;
    for (;;) {
        for (int i = 0; i < SPIN_BATCH; i++) {
            if (changed(w, value))
                return spun(false);
            if (next < end) {
                __builtin_prefetch(next);
                next += LINE;
            } else {
                relax();
            }
        }
        int64_t now = clock_ns();
        if (give_up == 0)
            give_up = now + patience;
        else if (now > give_up)
            return spun(true);
    }
}

static void wait_while(struct pool *pool, struct signal_word *w, uint32_t value, const char *next, const char *end)
{
    if (spin_while(pool, w, value, next, end))
        return;
    /* Sequentially consistent on both sides: either advance() sees the sleeper or the futex sees the new value. */
    atomic_fetch_add(&w->sleepers, 1);
    while (!changed(w, value))
        sleep_while(pool, w, value);
    atomic_fetch_sub(&w->sleepers, 1);
}

static void advance(struct pool *pool, struct signal_word *w)
{
    atomic_fetch_add(&w->value, 1);
    if (atomic_load(&w->sleepers) > 0)
        wake_all(pool, w);
}

static void *member_main(void *arg)
{
    struct start start = *(struct start *)arg;
    free(arg);
    struct pool *pool = start.pool;
    for (uint32_t seen = 0;; seen++) {
        wait_while(pool, &pool->run, seen, NULL, NULL);
        if (pool->closing)
            return NULL;
        pool->work(pool->ctx, start.member, pool->members);
        pool_barrier(pool);
    }
}

struct pool *pool_open(int threads)
{
    if (threads < 1)
        threads = 1;
    struct pool *pool = mem_check(aligned_alloc(64, sizeof *pool), sizeof *pool);
    *pool = (struct pool){.members = 1, .crowded = threads > cpu_cores()};
#ifndef __linux__
    pthread_mutex_init(&pool->mutex, NULL);
    pthread_cond_init(&pool->changed, NULL);
#endif
    pool->threads = mem_new((size_t)threads, sizeof *pool->threads);
    int made = 1;
    for (; made < threads; made++) {
        struct start *start = mem_alloc(sizeof *start);
        *start = (struct start){pool, made};
        if (thread_start(&pool->threads[made - 1], member_main, start) != 0) {
            free(start);
            break;
        }
    }
    pool->members = made; /* the threads read it only after the first change of `run` */
    return pool;
}

void pool_close(struct pool *pool)
{
    if (!pool)
        return;
    pool->closing = true;
    advance(pool, &pool->run);
    for (int i = 1; i < pool->members; i++)
        pthread_join(pool->threads[i - 1], NULL);
#ifndef __linux__
    pthread_mutex_destroy(&pool->mutex);
    pthread_cond_destroy(&pool->changed);
#endif
    free(pool->threads);
    free(pool);
}

int pool_threads(const struct pool *pool)
{
    return pool->members;
}

void pool_run(struct pool *pool, void (*work)(void *ctx, int member, int members), void *ctx)
{
    if (pool->members == 1) {
        work(ctx, 0, 1);
        return;
    }
    pool->work = work;
    pool->ctx = ctx;
    advance(pool, &pool->run);
    work(ctx, 0, pool->members);
    pool_barrier(pool);
}

void pool_barrier(struct pool *pool)
{
    pool_barrier_fetch(pool, NULL, 0);
}

void pool_barrier_fetch(struct pool *pool, const void *next, size_t bytes)
{
    if (pool->members == 1)
        return;
    uint32_t round = atomic_load_explicit(&pool->round.value, memory_order_acquire);
    if (atomic_fetch_add_explicit(&pool->arrived, 1, memory_order_acq_rel) == pool->members - 1) {
        atomic_store_explicit(&pool->arrived, 0, memory_order_relaxed);
        advance(pool, &pool->round);
    } else {
        wait_while(pool, &pool->round, round, next, (const char *)next + bytes);
    }
}
