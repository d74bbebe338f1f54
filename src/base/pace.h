/* How often something that untrusted code can cause as often as it likes is recorded: `a_minute` times at once, and as
 * often again in each minute. Zero is a pace that nothing was taken from. May include: nothing. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct pace {
    double used;
    int64_t at_ms;
};

/* now_ms comes from the loop, so tests own time. */
static inline bool pace_has(struct pace *p, double a_minute, int64_t now_ms)
{
    p->used -= (double)(now_ms - p->at_ms) * a_minute / 60000;
    p->used = p->used < 0 ? 0 : p->used;
    p->at_ms = now_ms;
    return p->used + 1 <= a_minute;
}

static inline bool pace_take(struct pace *p, double a_minute, int64_t now_ms)
{
    if (!pace_has(p, a_minute, now_ms))
        return false;
    p->used++;
    return true;
}
