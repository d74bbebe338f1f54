#include "vm/clock.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"

#define NEVER_S ((time_t)1 << 40)

struct vm_clock {
    int fd;
    struct watch *watch;
    loop_fn *fn;
    void *arg;
};

/* A timer that never fires, but is cancelled whenever the clock jumps. */
static int clock_arm(int fd)
{
    struct itimerspec never = { .it_value = { .tv_sec = NEVER_S } };
    return timerfd_settime(fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never, NULL);
}

static void clock_on_jump(void *arg, int events)
{
    struct vm_clock *c = arg;
    uint64_t times;
    (void)events;
    (void)!read(c->fd, &times, sizeof(times)); /* fails with ECANCELED, which is what we wait for */
    if (clock_arm(c->fd) < 0)
        watch_set(c->watch, 0);
    c->fn(c->arg);
}

struct vm_clock *vm_clock_free(struct vm_clock *c)
{
    if (!c)
        return NULL;
    watch_free(c->watch);
    if (c->fd >= 0)
        (void)close(c->fd);
    free(c);
    return NULL;
}

struct vm_clock *vm_clock_new(struct loop *l, loop_fn *fn, void *arg)
{
    struct vm_clock *c = xzalloc(sizeof(*c));
    *c = (struct vm_clock){ .fd = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK), .fn = fn, .arg = arg };
    if (c->fd < 0 || clock_arm(c->fd) < 0 || watch_new(l, c->fd, LOOP_READ, clock_on_jump, c, &c->watch) < 0)
        return vm_clock_free(c);
    return c;
}
