/* Turns of an event loop, for the unit tests and the fuzz targets: nothing but time, or a callback that stops the loop,
 * ends one. May include: base/, loop/. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "loop/loop.h"

#define LOOPTURN_WAIT_US 20000000 /* far more than a busy host takes */

static inline void loopturn_stop(void *arg)
{
    loop_stop(arg);
}

/* For as long, or until somebody stops it. */
static inline void loopturn_ms(struct loop *loop, int64_t ms)
{
    struct timer *t = timer_new(loop, ms, 0, loopturn_stop, loop);
    loop_run(loop);
    (void)timer_free(t);
}

/* Until the condition holds, or for so long that the check behind it may fail. */
#define LOOPTURN_UNTIL(loop, cond)                                                                    \
    for (int64_t end_us_ = clock_mono_us() + LOOPTURN_WAIT_US; !(cond) && clock_mono_us() < end_us_;) \
    loopturn_ms(loop, 1)

/* What is ready is taken, and so is what that makes ready. */
static inline void loopturn_few(struct loop *loop)
{
    for (int i = 0; i < 3; i++)
        loopturn_ms(loop, 0);
}

/* What was deferred is done, and what that defers: it comes before the stop, which is deferred too. */
static inline void loopturn_deferred(struct loop *loop)
{
    for (int i = 0; i < 3; i++) {
        loop_defer(loop, loopturn_stop, loop);
        loop_run(loop);
    }
}

/* Sends text to whom the loop listens, and lets it be heard. */
static inline bool loopturn_say(struct loop *loop, int fd, const char *text)
{
    size_t len = strlen(text);
    bool is_sent = send(fd, text, len, MSG_NOSIGNAL) == (ssize_t)len;
    loopturn_few(loop);
    return is_sent;
}
