/*
 * thread.h - starting threads that leave signals to the UI thread, and waiting with a monotonic deadline.
 */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/* pthread_create with every signal blocked in the new thread except faults (SIGSEGV, SIGBUS, ...), whose handler must
 * still be able to restore the terminal. The thread gets an alternate signal stack, so that a handler with SA_ONSTACK
 * also runs after a stack overflow. Returns 0 or an error number. */
int thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg);

/* A condition variable for cond_wait_until; destroy it with pthread_cond_destroy. */
void cond_init(pthread_cond_t *cond);

/* Waits for a signal on cond until a moment of clock_ms. Returns false once that moment has passed. Like
 * pthread_cond_wait it can wake spuriously. */
bool cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock, double moment);

#endif
