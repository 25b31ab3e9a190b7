/* clock.c - see clock.h. */
#include "clock.h"

#include <time.h>

int64_t clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

double clock_ms(void)
{
    return (double)clock_ns() / 1e6;
}

int64_t clock_wall_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int clock_timeout(double moment)
{
    double left = moment - clock_ms();
    return left <= 0 ? 0 : (int)left + 1;
}

int clock_shorter(int a, int b)
{
    return a < 0 ? b : b < 0 || a < b ? a : b;
}
