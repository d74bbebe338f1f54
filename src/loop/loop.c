/* Theory of operation. Every libuv callback enters through one of the dispatchers below, which run the deferred calls
 * after the user's function has returned. A prepare handle runs those left over (deferred before loop_run(), or by a
 * deferred call itself), and an idle handle keeps the loop from sleeping while any are left. One batch runs at a time,
 * so a call that always defers itself again cannot starve descriptors and timers. The caller owns watches and timers
 * and may free one inside its own callback; the memory is released when libuv has closed the handle. loop_free() closes
 * what is left and asserts that nothing made on the loop is still allocated. */
#include "loop/loop.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <uv.h>

#include "base/alloc.h"
#include "base/clock.h"

#define BUSY_MEMORY_US 5000

enum { WATCH_MAGIC = 0x57a7c401, TIMER_MAGIC = 0x71e3a901, FREE_TURNS_MAX = 10000 };

struct deferred {
    loop_fn *fn;
    void *arg;
};

struct signal_watch {
    uv_signal_t handle;
    struct loop *loop;
    loop_fn *fn;
    void *arg;
    struct signal_watch *next;
};

struct loop_end {
    struct loop *loop;
    struct loop_end *prev, *next;
    loop_fn *fn;
    void *arg;
};

struct loop {
    uv_loop_t uv;
    uv_prepare_t prepare;
    uv_idle_t idle;
    struct deferred *queue; /* ring of queue_cap entries, a power of two */
    size_t queue_head, queue_len, queue_cap;
    struct signal_watch *signals;
    struct loop_end *ends;
    bool is_draining;
    struct {
        const void *who; /* compared only */
        int64_t at_us;
    } busy[2]; /* who called loop_others_are_busy() last, and who else did */
};

struct watch {
    unsigned magic;
    uv_poll_t handle;
    struct loop *loop;
    watch_fn *fn;
    void *arg;
    int events;
    loop_fn *exit_fn; /* these two are set by loop_on_exit() */
    void *exit_arg;
};

struct timer {
    unsigned magic;
    uv_timer_t handle;
    struct loop *loop;
    timer_fn *fn;
    void *arg;
};

struct work {
    uv_work_t req;
    struct loop *loop;
    loop_fn *work, *done;
    void *arg;
};

/* --- deferred calls --- */

void loop_defer(struct loop *l, loop_fn *fn, void *arg)
{
    if (l->queue_len == l->queue_cap) {
        size_t cap = l->queue_cap ? l->queue_cap * 2 : 64;
        struct deferred *grown = xzalloc(cap * sizeof *grown);
        for (size_t i = 0; i < l->queue_len; i++)
            grown[i] = l->queue[(l->queue_head + i) & (l->queue_cap - 1)];
        free(l->queue);
        l->queue = grown;
        l->queue_cap = cap;
        l->queue_head = 0;
    }
    l->queue[(l->queue_head + l->queue_len) & (l->queue_cap - 1)] = (struct deferred){ fn, arg };
    l->queue_len++;
}

static void run_deferred(struct loop *l)
{
    if (l->is_draining)
        return;
    l->is_draining = true;
    for (size_t batch = l->queue_len; batch; batch--) {
        struct deferred d = l->queue[l->queue_head];
        l->queue_head = (l->queue_head + 1) & (l->queue_cap - 1);
        l->queue_len--;
        d.fn(d.arg);
    }
    l->is_draining = false;
}

static void idle_event(uv_idle_t *handle)
{
    (void)handle; /* an active idle handle keeps poll from waiting */
}

static void prepare_event(uv_prepare_t *handle)
{
    struct loop *l = handle->data;
    run_deferred(l);
    if (l->queue_len)
        (void)uv_idle_start(&l->idle, idle_event); /* only fails without a callback */
    else
        (void)uv_idle_stop(&l->idle); /* always 0 */
}

/* --- the loop --- */

int loop_new(struct loop **ret, struct err *err)
{
    struct loop *l = xzalloc(sizeof *l);
    int r = uv_loop_init(&l->uv);
    if (r < 0) {
        free(l);
        return err_set(err, ERR_INTERNAL, -r, "event loop: libuv cannot start");
    }
    l->prepare.data = l;
    (void)uv_prepare_init(&l->uv, &l->prepare);         /* these four cannot fail with a callback given */
    (void)uv_prepare_start(&l->prepare, prepare_event); /* also keeps uv_run() running until loop_stop() */
    (void)uv_idle_init(&l->uv, &l->idle);
    *ret = l;
    return 0;
}

struct loop_end *loop_on_end(struct loop *l, loop_fn *fn, void *arg)
{
    struct loop_end *e = xzalloc(sizeof *e);
    *e = (struct loop_end){ .loop = l, .next = l->ends, .fn = fn, .arg = arg };
    if (e->next)
        e->next->prev = e;
    l->ends = e;
    return e;
}

struct loop_end *loop_end_free(struct loop_end *e)
{
    if (!e)
        return NULL;
    if (e->prev)
        e->prev->next = e->next;
    else
        e->loop->ends = e->next;
    if (e->next)
        e->next->prev = e->prev;
    free(e);
    return NULL;
}

static void on_signal_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void loop_settle(struct loop *l)
{
    for (int turn = 0; l->queue_len && turn < FREE_TURNS_MAX; turn++)
        run_deferred(l);
}

struct loop *loop_free(struct loop *l)
{
    if (!l)
        return NULL;
    loop_settle(l);
    while (l->ends) {
        struct loop_end e = *l->ends;
        (void)loop_end_free(l->ends);
        e.fn(e.arg);
    }
    while (l->signals) {
        struct signal_watch *s = l->signals;
        l->signals = s->next;
        uv_close((uv_handle_t *)&s->handle, on_signal_closed);
    }
    uv_close((uv_handle_t *)&l->prepare, NULL);
    uv_close((uv_handle_t *)&l->idle, NULL);
    (void)uv_run(&l->uv, UV_RUN_DEFAULT); /* runs close callbacks, and finishes work that is still running */
    for (int turn = 0; l->queue_len && turn < FREE_TURNS_MAX; turn++) {
        run_deferred(l);
        (void)uv_run(&l->uv, UV_RUN_NOWAIT);
    }
    int r = uv_loop_close(&l->uv);
    assert(r == 0); /* otherwise something made on the loop was not freed */
    free(l->queue);
    free(l);
    return NULL;
}

void loop_run(struct loop *l)
{
    (void)uv_run(&l->uv, UV_RUN_DEFAULT); /* non-zero only says that handles are left, which is expected */
}

void loop_run_until(struct loop *l, bool (*is_over)(const void *arg), const void *arg)
{
    while (!is_over(arg))
        (void)uv_run(&l->uv, UV_RUN_ONCE); /* as above */
}

void loop_stop(struct loop *l)
{
    uv_stop(&l->uv);
}

int64_t loop_now_ms(const struct loop *l)
{
    return (int64_t)uv_now(&l->uv);
}

bool loop_others_are_busy(struct loop *l, const void *who)
{
    int64_t now = clock_mono_us();
    if (l->busy[0].who != who) {
        l->busy[1] = l->busy[0];
        l->busy[0].who = who;
    }
    l->busy[0].at_us = now;
    return l->busy[1].who && now - l->busy[1].at_us < BUSY_MEMORY_US;
}

/* --- descriptors --- */

static int start_poll(struct watch *w);

static void poll_event(uv_poll_t *handle, int status, int events)
{
    struct watch *w = handle->data;
    struct loop *l = w->loop;
    assert(w->magic == WATCH_MAGIC);
    int seen = 0;
    if (status < 0) {
        /* libuv has stopped the poll (EPOLLERR). The owner finds the error by reading or writing. If it keeps the
         * watch, the level-triggered event is reported again. */
        seen = w->events;
        (void)start_poll(w); /* it worked before; a failure leaves a silent watch, as a closed fd would */
    } else {
        seen |= events & UV_READABLE ? LOOP_READ : 0;
        seen |= events & UV_WRITABLE ? LOOP_WRITE : 0;
        seen |= events & UV_DISCONNECT ? LOOP_HUP : 0;
    }
    if (seen)
        w->fn(w->arg, seen);
    run_deferred(l);
}

static int start_poll(struct watch *w)
{
    int events = 0;
    events |= w->events & LOOP_READ ? UV_READABLE : 0;
    events |= w->events & LOOP_WRITE ? UV_WRITABLE : 0;
    events |= w->events & LOOP_HUP ? UV_DISCONNECT : 0;
    return events ? uv_poll_start(&w->handle, events, poll_event) : uv_poll_stop(&w->handle);
}

static void on_watch_closed(uv_handle_t *handle)
{
    free(handle->data);
}

int watch_new(struct loop *l, int fd, int events, watch_fn *fn, void *arg, struct watch **ret)
{
    struct watch *w = xzalloc(sizeof *w);
    int r = uv_poll_init(&l->uv, &w->handle, fd);
    if (r < 0) {
        free(w);
        return r;
    }
    w->magic = WATCH_MAGIC;
    w->loop = l;
    w->fn = fn;
    w->arg = arg;
    w->events = events;
    w->handle.data = w;
    r = start_poll(w);
    if (r < 0) {
        (void)watch_free(w);
        return r;
    }
    *ret = w;
    return 0;
}

void watch_set(struct watch *w, int events)
{
    assert(w->magic == WATCH_MAGIC);
    if (w->events == events)
        return;
    w->events = events;
    (void)start_poll(w); /* fails on a closed fd only, which the contract excludes */
}

struct watch *watch_free(struct watch *w)
{
    if (!w)
        return NULL;
    assert(w->magic == WATCH_MAGIC);
    w->magic = 0;
    uv_close((uv_handle_t *)&w->handle, on_watch_closed);
    return NULL;
}

/* --- timers --- */

static void timer_event(uv_timer_t *handle)
{
    struct timer *t = handle->data;
    struct loop *l = t->loop;
    assert(t->magic == TIMER_MAGIC);
    t->fn(t->arg);
    run_deferred(l);
}

static void on_timer_closed(uv_handle_t *handle)
{
    free(handle->data);
}

struct timer *timer_new(struct loop *l, int64_t delay_ms, int64_t repeat_ms, timer_fn *fn, void *arg)
{
    struct timer *t = xzalloc(sizeof *t);
    t->magic = TIMER_MAGIC;
    t->loop = l;
    t->fn = fn;
    t->arg = arg;
    (void)uv_timer_init(&l->uv, &t->handle); /* always 0 */
    t->handle.data = t;
    timer_set(t, delay_ms, repeat_ms);
    return t;
}

void timer_set(struct timer *t, int64_t delay_ms, int64_t repeat_ms)
{
    assert(t->magic == TIMER_MAGIC);
    if (delay_ms < 0) {
        (void)uv_timer_stop(&t->handle); /* always 0 */
        return;
    }
    uv_update_time(
        t->handle.loop); /* the cached time is as old as this turn: after a long one the timer would fire early */
    /* Fails only without a callback or on a closing handle. */
    (void)uv_timer_start(&t->handle, timer_event, (uint64_t)delay_ms, repeat_ms > 0 ? (uint64_t)repeat_ms : 0);
}

struct timer *timer_free(struct timer *t)
{
    if (!t)
        return NULL;
    assert(t->magic == TIMER_MAGIC);
    t->magic = 0;
    uv_close((uv_handle_t *)&t->handle, on_timer_closed);
    return NULL;
}

/* --- work on pool threads --- */

static void work_event(uv_work_t *req)
{
    struct work *w = req->data;
    w->work(w->arg);
}

static void on_work_done(uv_work_t *req, int status)
{
    struct work *w = req->data;
    struct loop *l = w->loop;
    (void)status; /* only uv_cancel() makes it non-zero, and nothing here cancels */
    if (w->done)
        w->done(w->arg);
    free(w);
    run_deferred(l);
}

int loop_work(struct loop *l, loop_fn *work, loop_fn *done, void *arg)
{
    struct work *w = xzalloc(sizeof *w);
    *w = (struct work){ .loop = l, .work = work, .done = done, .arg = arg };
    w->req.data = w;
    int r = uv_queue_work(&l->uv, &w->req, work_event, on_work_done);
    if (r < 0)
        free(w);
    return r;
}

/* --- signals and processes --- */

static void signal_event(uv_signal_t *handle, int signo)
{
    struct signal_watch *s = handle->data;
    (void)signo; /* one watch per signal number */
    s->fn(s->arg);
    run_deferred(s->loop);
}

int loop_on_signal(struct loop *l, int signo, loop_fn *fn, void *arg)
{
    struct signal_watch *s = xzalloc(sizeof *s);
    *s = (struct signal_watch){ .loop = l, .fn = fn, .arg = arg };
    (void)uv_signal_init(&l->uv, &s->handle); /* a failure shows again in uv_signal_start() */
    s->handle.data = s;
    int r = uv_signal_start(&s->handle, signal_event, signo);
    if (r < 0) {
        uv_close((uv_handle_t *)&s->handle, on_signal_closed);
        return r;
    }
    s->next = l->signals;
    l->signals = s;
    return 0;
}

static void pidfd_event(void *arg, int events)
{
    struct watch *w = arg;
    (void)events;
    watch_set(w, 0); /* the pidfd stays readable: report once */
    w->exit_fn(w->exit_arg);
}

int loop_on_exit(struct loop *l, int pidfd, loop_fn *fn, void *arg, struct watch **ret)
{
    struct watch *w;
    int r = watch_new(l, pidfd, LOOP_READ, pidfd_event, NULL, &w);
    if (r < 0)
        return r;
    w->arg = w;
    w->exit_fn = fn;
    w->exit_arg = arg;
    *ret = w;
    return 0;
}
