/* Time, randomness and worker threads in the hands of a test. A program that includes this is linked with --wrap
 * (tests/unit/meson.build), so that the clocks, random bytes, timers and offloaded work of everything it is made of
 * come from here: nothing sleeps, and one seed gives one run. Include it in one file of a program only. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>

#include "base/alloc.h"
#include "loop/loop.h"

/* xorshift64*: two of them, so that more random bytes in the product do not change what a test does. */
static uint64_t virtual_ids = 1, virtual_rolls = 1;

static inline uint64_t virtual_next(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 0x2545f4914f6cdd1dull;
}

/* 0 … below - 1 */
static inline uint64_t virtual_roll(uint64_t below)
{
    return (virtual_next(&virtual_rolls) >> 11) % below;
}

static inline void virtual_seed(uint64_t seed)
{
    virtual_rolls = seed * 0x9e3779b97f4a7c15ull + 1;
    virtual_ids = ~virtual_rolls | 1;
    for (int i = 0; i < 8; i++)
        (void)(virtual_next(&virtual_rolls) + virtual_next(&virtual_ids));
}

/* --- clocks --- */

static int64_t virtual_us = 1800000000ll * 1000000;

int __wrap_clock_gettime(clockid_t id, struct timespec *t);
int __wrap_clock_gettime(clockid_t id, struct timespec *t)
{
    (void)id;
    t->tv_sec = virtual_us / 1000000;
    t->tv_nsec = virtual_us % 1000000 * 1000;
    return 0;
}

ssize_t __wrap_getrandom(void *out, size_t len, unsigned flags);
ssize_t __wrap_getrandom(void *out, size_t len, unsigned flags)
{
    (void)flags;
    for (size_t i = 0; i < len; i++)
        ((unsigned char *)out)[i] = (unsigned char)(virtual_next(&virtual_ids) >> 32);
    return (ssize_t)len;
}

int64_t __wrap_loop_now_ms(const struct loop *l);
int64_t __wrap_loop_now_ms(const struct loop *l)
{
    (void)l;
    return virtual_us / 1000;
}

/* --- timers: fired by virtual_advance() only --- */

struct timer {
    struct timer *next;
    struct loop *loop;
    int64_t due_us, repeat_ms; /* due_us -1: stopped */
    uint64_t order;
    timer_fn *fn;
    void *arg;
};
static struct timer *virtual_timers;
static uint64_t virtual_order;

void __wrap_timer_set(struct timer *t, int64_t delay_ms, int64_t repeat_ms);
void __wrap_timer_set(struct timer *t, int64_t delay_ms, int64_t repeat_ms)
{
    t->due_us = delay_ms < 0 ? -1 : virtual_us + delay_ms * 1000;
    t->repeat_ms = repeat_ms;
    t->order = ++virtual_order;
}

struct timer *__wrap_timer_new(struct loop *l, int64_t delay_ms, int64_t repeat_ms, timer_fn *fn, void *arg);
struct timer *__wrap_timer_new(struct loop *l, int64_t delay_ms, int64_t repeat_ms, timer_fn *fn, void *arg)
{
    struct timer *t = xzalloc(sizeof(*t));
    *t = (struct timer){ .next = virtual_timers, .loop = l, .fn = fn, .arg = arg };
    virtual_timers = t;
    __wrap_timer_set(t, delay_ms, repeat_ms);
    return t;
}

struct timer *__wrap_timer_free(struct timer *t);
struct timer *__wrap_timer_free(struct timer *t)
{
    struct timer **at = &virtual_timers;
    if (!t)
        return NULL;
    while (*at != t)
        at = &(*at)->next;
    *at = t->next;
    free(t);
    return NULL;
}

/* The loop is abandoned, and nothing of it may run any more. */
static inline void virtual_abandon(const struct loop *l)
{
    for (struct timer **at = &virtual_timers; *at;) {
        struct timer *t = *at;
        if (t->loop != l) {
            at = &t->next;
            continue;
        }
        *at = t->next;
        free(t);
    }
}

/* --- work off the loop: done here, at its end, a while later --- */

static int64_t (*virtual_work_ms)(void); /* how long it takes; NULL: no time */

struct virtual_work {
    struct timer *timer;
    loop_fn *work, *done;
    void *arg;
};

static inline void virtual_worked(void *arg)
{
    struct virtual_work *w = arg;
    timer_free(w->timer);
    w->work(w->arg);
    w->done(w->arg);
    free(w);
}

int __wrap_loop_work(struct loop *l, loop_fn *work, loop_fn *done, void *arg);
int __wrap_loop_work(struct loop *l, loop_fn *work, loop_fn *done, void *arg)
{
    struct virtual_work *w = xzalloc(sizeof(*w));
    *w = (struct virtual_work){ .work = work, .done = done, .arg = arg };
    w->timer = timer_new(l, virtual_work_ms ? virtual_work_ms() : 0, 0, virtual_worked, w);
    return 0;
}

/* --- turns --- */

static inline void virtual_stop(void *arg)
{
    loop_stop(arg);
}

/* What was deferred, and what is ready on descriptors. */
static inline void virtual_turn(struct loop *l)
{
    loop_defer(l, virtual_stop, l);
    loop_run(l);
}

static inline struct timer *virtual_soonest(void)
{
    struct timer *first = NULL;
    for (struct timer *t = virtual_timers; t; t = t->next)
        if (t->due_us >= 0 &&
            (!first || t->due_us < first->due_us || (t->due_us == first->due_us && t->order < first->order)))
            first = t;
    return first;
}

/* Moves the clock to the next timer that is due within so long, and fires it. false: there is none; the clock is at the
 * end of that time. */
static inline bool virtual_fire(int64_t within_us)
{
    struct timer *t = virtual_soonest();
    if (!t || t->due_us > virtual_us + within_us) {
        virtual_us += within_us;
        return false;
    }
    if (t->due_us > virtual_us)
        virtual_us = t->due_us;
    timer_set(t, t->repeat_ms ? t->repeat_ms : -1, t->repeat_ms);
    t->fn(t->arg);
    return true;
}

/* So much time goes by, with all that happens in it. */
static inline void virtual_advance(struct loop *l, int64_t ms)
{
    int64_t end_us = virtual_us + ms * 1000;
    virtual_turn(l);
    while (virtual_us < end_us || (virtual_soonest() && virtual_soonest()->due_us <= virtual_us)) {
        bool is_more = virtual_fire(end_us - virtual_us);
        virtual_turn(l);
        virtual_turn(l);
        if (!is_more)
            break;
    }
}
