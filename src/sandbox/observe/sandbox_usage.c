#include "sandbox/observe/sandbox_usage.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "guest/link.h"

struct asking {
    struct sandbox *s;
    loop_fn *fn; /* or NULL */
    void *arg;
};

static void on_usage(void *arg, const struct guest_usage *usage, const struct err *err)
{
    struct asking a = *(struct asking *)arg;
    free(arg);
    a.s->inside.n_asked--;
    if (!err) {
        a.s->inside.is_known = true;
        a.s->inside.pids = usage->pids;
        a.s->inside.memory_bytes = usage->memory_bytes;
        a.s->inside.oom_kills = usage->oom_kills;
    }
    if (a.fn)
        a.fn(a.arg);
    sandbox_unref(a.s);
}

static bool ask_agent(struct sandbox *s, loop_fn *fn, void *arg)
{
    if (!s->runtime->ops->counts_inside || !s->link || s->status != SANDBOX_RUNNING)
        return false;
    struct asking *a = xzalloc(sizeof(*a));
    *a = (struct asking){ .s = sandbox_ref(s), .fn = fn, .arg = arg };
    s->inside.n_asked++;
    if (guest_usage(s->link, on_usage, a) >= 0)
        return true;
    s->inside.n_asked--;
    sandbox_unref(s);
    free(a);
    return false;
}

int sandbox_usage_get(struct sandbox *s, struct box_stats *ret, struct err *err)
{
    int r = s->runtime->ops->stats(s->box, ret, err);
    ret->tx_bytes += s->relayed[0];
    ret->rx_bytes += s->relayed[1];
    if (r < 0 || !s->runtime->ops->counts_inside)
        return r;
    if (s->inside.is_known) {
        uint64_t most = ret->memory_limit_bytes; /* a VM has some more, for its kernel */
        ret->pids = s->inside.pids;
        ret->memory_bytes = most && s->inside.memory_bytes > most ? most : s->inside.memory_bytes;
        ret->oom_kills = s->inside.oom_kills;
    }
    if (s->inside.n_asked == 0)
        (void)ask_agent(s, NULL, NULL); /* for the next look */
    return 0;
}

void sandbox_usage_refresh(struct sandbox *s, loop_fn *fn, void *arg)
{
    if (!ask_agent(s, fn, arg))
        fn(arg);
}
