/* The pool: every member runs, nobody passes a barrier early, and who has nothing to do uses no CPU. */
#include "../../../engine/pool.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#define MEMBERS 5 /* more than the cores of a small machine: yielding and sleeping are tested too */

struct board {
    struct pool *pool;
    int rounds;
    int written[MEMBERS]; /* plain integers: it is the barrier that must order them */
    atomic_int early;     /* members seen that had not written yet, or had gone ahead */
    int runs[MEMBERS];
};

static void count_run(void *ctx, int member, int members)
{
    struct board *b = ctx;
    (void)members;
    b->runs[member]++;
}

static void every_member_runs_once_a_run(void **state)
{
    (void)state;
    for (int threads = 1; threads <= MEMBERS; threads++) {
        struct board b = {.pool = pool_open(threads)};
        assert_int_equal(pool_threads(b.pool), threads);
        for (int run = 1; run <= 500; run++) {
            pool_run(b.pool, count_run, &b);
            for (int i = 0; i < MEMBERS; i++)
                assert_int_equal(b.runs[i], i < threads ? run : 0);
        }
        pool_close(b.pool);
    }
}

static void write_and_look(void *ctx, int member, int members)
{
    struct board *b = ctx;
    for (int round = 1; round <= b->rounds; round++) {
        b->written[member] = round;
        pool_barrier(b->pool);
        for (int i = 0; i < members; i++)
            if (b->written[i] != round)
                atomic_fetch_add(&b->early, 1);
        pool_barrier(b->pool);
    }
}

static void nobody_passes_a_barrier_early(void **state)
{
    (void)state;
    for (int threads = 1; threads <= MEMBERS; threads++) {
        struct board b = {.pool = pool_open(threads), .rounds = threads > 2 ? 200 : 5000};
        for (int run = 0; run < 3; run++)
            pool_run(b.pool, write_and_look, &b);
        pool_close(b.pool);
        assert_int_equal(atomic_load(&b.early), 0);
    }
}

static void sleep_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

static void come_late(void *ctx, int member, int members)
{
    struct board *b = ctx;
    (void)members;
    if (member == 1)
        sleep_ms(20); /* far beyond the time the others spin */
    b->written[member] = 1;
    pool_barrier(b->pool);
    for (int i = 0; i < members; i++)
        if (b->written[i] != 1)
            atomic_fetch_add(&b->early, 1);
}

static void a_late_member_is_waited_for_asleep(void **state)
{
    (void)state;
    struct board b = {.pool = pool_open(3)};
    pool_run(b.pool, come_late, &b);
    pool_close(b.pool);
    assert_int_equal(atomic_load(&b.early), 0);
}

static void an_idle_pool_uses_no_cpu(void **state)
{
    (void)state;
    struct board b = {.pool = pool_open(MEMBERS)};
    pool_run(b.pool, count_run, &b);
    sleep_ms(20);
    struct timespec before, after;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
    sleep_ms(300);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
    double used = (double)(after.tv_sec - before.tv_sec) * 1e3 + (double)(after.tv_nsec - before.tv_nsec) / 1e6;
    assert_true(used < 5);
    pool_run(b.pool, count_run, &b); /* and it wakes */
    for (int i = 0; i < MEMBERS; i++)
        assert_int_equal(b.runs[i], 2);
    pool_close(b.pool);
}

static void look_at_mask(void *ctx, int member, int members)
{
    (void)members;
    pthread_sigmask(SIG_BLOCK, NULL, &((sigset_t *)ctx)[member]);
}

static int count_blocked(const sigset_t *mask, const int *signals, size_t n)
{
    int blocked = 0;
    for (size_t i = 0; i < n; i++)
        blocked += sigismember(mask, signals[i]);
    return blocked;
}

static void signals_but_faults_go_to_the_caller_only(void **state)
{
    (void)state;
    static const int ordinary[] = {SIGINT, SIGTERM, SIGWINCH, SIGHUP, SIGPIPE};
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    sigset_t masks[3], after;
    struct pool *pool = pool_open(3);
    pool_run(pool, look_at_mask, masks);
    pool_close(pool);
    for (int member = 0; member < 3; member++) {
        assert_int_equal(count_blocked(&masks[member], ordinary, 5), member ? 5 : 0);
        assert_int_equal(count_blocked(&masks[member], faults, 5), 0);
    }
    pthread_sigmask(SIG_BLOCK, NULL, &after);
    assert_int_equal(count_blocked(&after, ordinary, 5), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_member_runs_once_a_run),
        cmocka_unit_test(nobody_passes_a_barrier_early),
        cmocka_unit_test(a_late_member_is_waited_for_asleep),
        cmocka_unit_test(an_idle_pool_uses_no_cpu),
        cmocka_unit_test(signals_but_faults_go_to_the_caller_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
