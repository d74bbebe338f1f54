#include "sandbox/lifecycle/restart.h"

#include <string.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"

#define PACE_MS 20 /* between two starts after a reboot: each has the host's CPUs for a moment */

static bool is_wanted(const struct sandbox *s)
{
    return !s->is_gone && s->status == SANDBOX_STOPPED && s->config.restart &&
           strcmp(s->config.restart, "always") == 0 && !s->manager->is_closing;
}

static void start_later(struct sandbox *s);

static void on_restarted(void *arg, struct sandbox *started, const struct err *err)
{
    struct sandbox *s = arg;
    (void)err; /* it is in the log */
    if (!started && is_wanted(s))
        start_later(s);
}

static void restart_now(void *arg)
{
    struct sandbox *s = arg;
    if (is_wanted(s) && !s->again.waiter)
        manager_start(s, NULL, on_restarted, s, &s->again.waiter);
}

static void start_in(struct sandbox *s, int64_t ms)
{
    if (!s->again.timer)
        s->again.timer = timer_new(s->manager->loop, ms, 0, restart_now, s); /* freed with the sandbox */
    else
        timer_set(s->again.timer, ms, 0);
}

static void start_later(struct sandbox *s)
{
    int64_t pause_s = s->again.pause_s * 2;
    s->again.pause_s = pause_s < LIMIT_MIN(RESTART_S)   ? LIMIT_MIN(RESTART_S)
                       : pause_s > LIMIT_MAX(RESTART_S) ? LIMIT_MAX(RESTART_S)
                                                        : pause_s;
    log_event(LOG_INFO, "sandbox.restart", "id", s->id, "why", s->why ? s->why : s->stop.reason, NULL);
    start_in(s, s->again.pause_s * 1000);
}

void restart_started(struct sandbox *s)
{
    s->again.started_us = clock_mono_us();
}

void restart_died(struct sandbox *s)
{
    if (!is_wanted(s))
        return;
    if (clock_mono_us() - s->again.started_us > LIMIT_MAX(RESTART_S) * 1000000LL)
        s->again.pause_s = 0;
    start_later(s);
}

void restart_after_recovery(struct manager *m)
{
    static const char *const reasons[] = { "lost", "shutdown", "died" };
    int64_t ms = 0;
    for (struct map_iter it = map_iter(m->sandboxes); map_next(&it);) {
        struct sandbox *s = it.value;
        for (size_t i = 0; is_wanted(s) && s->stop.reason && i < sizeof(reasons) / sizeof(*reasons); i++)
            if (strcmp(s->stop.reason, reasons[i]) == 0)
                start_in(s, ms += PACE_MS);
    }
}
