#include "loop/crontimer.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"

#define LONGEST_MS (60 * 1000) /* the wall clock may be changed: check at least this often */

struct crontimer {
    struct cron when;
    struct timer *timer;
    int64_t due_ms; /* wall clock */
    timer_fn *fn;
    void *arg;
};

static void cron_arm(struct crontimer *t)
{
    int64_t left = t->due_ms - clock_wall_ms();
    timer_set(t->timer, left < 0 ? 0 : left > LONGEST_MS ? LONGEST_MS : left, 0);
}

static void cron_due(void *arg)
{
    struct crontimer *t = arg;
    int64_t now = clock_wall_ms();
    if (now < t->due_ms) {
        /* A clock that was set back must not silence the timer for as long as the jump. */
        int64_t next = cron_next(&t->when, now);
        if (next >= 0 && next < t->due_ms)
            t->due_ms = next;
        cron_arm(t);
        return;
    }
    t->due_ms = cron_next(&t->when, now);
    if (t->due_ms >= 0)
        cron_arm(t);
    t->fn(t->arg); /* last: it may free the timer */
}

struct crontimer *crontimer_new(struct loop *l, const struct cron *when, timer_fn *fn, void *arg)
{
    struct crontimer *t = xzalloc(sizeof(*t));
    *t = (struct crontimer){ .when = *when, .fn = fn, .arg = arg, .due_ms = cron_next(when, clock_wall_ms()) };
    t->timer = timer_new(l, LONGEST_MS, 0, cron_due, t);
    if (t->due_ms >= 0)
        cron_arm(t);
    else
        timer_set(t->timer, -1, 0);
    return t;
}

struct crontimer *crontimer_free(struct crontimer *t)
{
    if (t) {
        timer_free(t->timer);
        free(t);
    }
    return NULL;
}
