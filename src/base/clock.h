/*
 * clock.h - the time, and timeouts for poll().
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

double clock_ms(void);       /* monotonic milliseconds, from an arbitrary start */
int64_t clock_ns(void);      /* the same clock in nanoseconds */
int64_t clock_wall_ms(void); /* milliseconds since 1970, as the system's clock is set */

/* Milliseconds until a moment of clock_ms, 0 once it has passed. */
int clock_timeout(double moment);
/* The shorter of two timeouts; -1 means no timeout. */
int clock_shorter(int a, int b);

#endif
