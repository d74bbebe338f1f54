#include "runtime/box_life.h"

#include <errno.h>
#include <unistd.h>

#include "base/alloc.h"

void box_life_on_gone(struct box *box, loop_fn *fn, void *arg)
{
    struct box_life *life = (struct box_life *)box;
    life->gone_fn = fn;
    life->gone_arg = arg;
}

void box_life_on_late(struct box *box, loop_fn *fn, void *arg)
{
    struct box_life *life = (struct box_life *)box;
    life->late_fn = fn;
    life->late_arg = arg;
}

void box_life_on_overuse(struct box *box, box_overuse_fn *fn, void *arg)
{
    struct box_life *life = (struct box_life *)box;
    life->overuse_fn = fn;
    life->overuse_arg = arg;
}

void box_life_overuse(const struct box *box, const char *why)
{
    const struct box_life *life = (const struct box_life *)box;
    if (life->overuse_fn)
        life->overuse_fn(life->overuse_arg, why);
}

void box_life_gone(struct box *box)
{
    struct box_life *life = (struct box_life *)box;
    loop_fn *fn = STEAL(life->gone_fn);
    if (fn)
        fn(life->gone_arg);
}

void box_life_late(const struct box *box)
{
    const struct box_life *life = (const struct box_life *)box;
    if (life->late_fn)
        life->late_fn(life->late_arg);
}

void box_life_fail(const struct box_life_caller *to, const struct err *err)
{
    close_fd_p(&to->guest_fd);
    if (err)
        to->fn(to->arg, NULL, NO_FD, err);
}

struct refusal {
    struct box_life_caller to;
    struct err err;
};

static void deliver_refusal(void *arg)
{
    CLEANUP(free_p) struct refusal *r = arg;
    box_life_fail(&r->to, &r->err);
}

void box_life_refuse(struct loop *l, box_ready_fn *fn, void *arg, const struct err *err)
{
    struct refusal *r = xzalloc(sizeof(*r));
    *r = (struct refusal){ .to = BOX_LIFE_CALLER(fn, arg), .err = *err };
    loop_defer(l, deliver_refusal, r);
}
