/* thread.c - see thread.h. */
#include "thread.h"

#include "clock.h"
#include "mem.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#define FAULT_STACK (64 * 1024) /* for handlers that only restore the terminal */

struct start {
    void *(*run)(void *arg);
    void *arg;
};

static void *run_with_fault_stack(void *arg)
{
    struct start start = *(struct start *)arg;
    stack_t stack = {.ss_sp = mem_alloc(FAULT_STACK), .ss_size = FAULT_STACK}, before;
    free(arg);
    bool set = sigaltstack(&stack, &before) == 0;
    void *result = start.run(start.arg);
    if (set)
        sigaltstack(&before, NULL);
    free(stack.ss_sp);
    return result;
}

int thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    sigset_t blocked, before;
    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        sigdelset(&blocked, faults[i]);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    struct start *start = mem_new(1, sizeof *start);
    *start = (struct start){run, arg};
    int error = pthread_create(thread, NULL, run_with_fault_stack, start);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error)
        free(start);
    return error;
}

void cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
#ifndef __APPLE__ /* has no pthread_condattr_setclock */
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
#endif
    pthread_cond_init(cond, &attributes);
    pthread_condattr_destroy(&attributes);
}

bool cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock, double moment)
{
#ifdef __APPLE__ /* waits by the wall clock */
    moment += (double)clock_wall_ms() - clock_ms();
#endif
    double seconds = floor(moment / 1e3);
    struct timespec at = {.tv_sec = (time_t)seconds, .tv_nsec = (long)((moment - seconds * 1e3) * 1e6)};
    return pthread_cond_timedwait(cond, lock, &at) != ETIMEDOUT;
}
