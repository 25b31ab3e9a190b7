/* thread.c - see thread.h. */
#include "thread.h"

#include "clock.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <time.h>

int thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    sigset_t blocked, before;
    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        sigdelset(&blocked, faults[i]);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    int error = pthread_create(thread, NULL, run, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
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
