#include "sandbox/lifecycle/starts.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/queue.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/share.h"

enum { MAX_LEAST = 16 };

struct start {
    TAILQ_ENTRY(start) link;
    char *tenant;
    loop_fn *go;
    void *arg;
};

struct starts {
    TAILQ_HEAD(, start) waiting;
    struct share *running;
    unsigned n, max;
    bool is_going; /* a start that ends at once starts no other from inside */
};

unsigned starts_max(void)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    return cpus * 4 > MAX_LEAST ? (unsigned)cpus * 4 : MAX_LEAST;
}

struct starts *starts_new(unsigned max)
{
    struct starts *st = xzalloc(sizeof(*st));
    TAILQ_INIT(&st->waiting);
    st->running = share_new(max);
    st->max = max;
    return st;
}

struct starts *starts_free(struct starts *st)
{
    if (!st)
        return NULL;
    assert(TAILQ_EMPTY(&st->waiting));
    share_free(st->running);
    free(st);
    return NULL;
}

static struct start *start_next(const struct starts *st)
{
    struct start *best = NULL;
    size_t least = 0;
    for (struct start *one = TAILQ_FIRST(&st->waiting); one && !(best && least == 0); one = TAILQ_NEXT(one, link)) {
        size_t held = share_held(st->running, one->tenant);
        if (!best || held < least) {
            best = one;
            least = held;
        }
    }
    return best;
}

static void start_some(struct starts *st)
{
    if (st->is_going)
        return;
    st->is_going = true;
    for (struct start *one; st->n < st->max && (one = start_next(st));) {
        TAILQ_REMOVE(&st->waiting, one, link);
        st->n++;
        share_add(st->running, one->tenant, 1);
        one->go(one->arg);
        free(one->tenant);
        free(one);
    }
    st->is_going = false;
}

void starts_begin(struct starts *st, const char *tenant, loop_fn *go, void *arg)
{
    struct start *one = xzalloc(sizeof(*one));
    *one = (struct start){ .tenant = xstrdup(tenant), .go = go, .arg = arg };
    TAILQ_INSERT_TAIL(&st->waiting, one, link);
    start_some(st);
}

void starts_done(struct starts *st, const char *tenant)
{
    st->n--;
    share_give(st->running, tenant, 1);
    start_some(st);
}
