#include "sandbox/lifecycle/offload.h"

#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"

struct offload {
    struct manager *m;
    loop_fn *work, *done;
    void *arg;
};

static void run_work(void *arg)
{
    struct offload *o = arg;
    o->work(o->arg);
}

static void over(void *arg)
{
    struct offload *o = arg;
    struct manager *m = o->m;
    o->done(o->arg);
    free(o);
    if (--m->n_offloaded == 0 && m->on_idle)
        m->on_idle(m->idle_arg);
}

int offload_run(struct manager *m, loop_fn *work, loop_fn *done, void *arg)
{
    if (atomic_load(&m->is_stopping))
        return -ECANCELED;
    struct offload *o = xzalloc(sizeof(*o));
    *o = (struct offload){ .m = m, .work = work, .done = done, .arg = arg };
    int r = loop_work(m->loop, run_work, over, o);
    if (r < 0) {
        free(o);
        return r;
    }
    m->n_offloaded++;
    return 0;
}

void offload_finish(struct manager *m, loop_fn *fn, void *arg)
{
    atomic_store(&m->is_stopping, true);
    if (m->n_offloaded == 0) {
        fn(arg);
        return;
    }
    m->on_idle = fn;
    m->idle_arg = arg;
}
