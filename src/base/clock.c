#include "base/clock.h"

#include <time.h>

int64_t clock_wall_ms(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int64_t clock_deadline_us(int64_t at_wall_ms, int64_t wall_ms, int64_t mono_us)
{
    int64_t left_ms = at_wall_ms - wall_ms;
    if (left_ms > (INT64_MAX - mono_us) / 1000)
        return INT64_MAX;
    return left_ms < 0 ? mono_us : mono_us + left_ms * 1000;
}

int64_t clock_mono_us(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}
