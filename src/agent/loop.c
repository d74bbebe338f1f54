#include "agent/loop.h"

#include <errno.h>
#include <stddef.h>
#include <time.h>
#include <unistd.h>

int agent_loop_init(struct agent_loop *l)
{
    *l = (struct agent_loop){ .epfd = epoll_create1(EPOLL_CLOEXEC) };
    return l->epfd < 0 ? -errno : 0;
}

void agent_loop_done(struct agent_loop *l)
{
    (void)close(l->epfd);
}

uint64_t agent_loop_now_us(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_MONOTONIC, &ts); /* cannot fail with this clock */
    return (uint64_t)ts.tv_sec * 1000000u + (uint64_t)ts.tv_nsec / 1000u;
}

int agent_loop_watch(struct agent_loop *l, struct agent_watch *w, uint32_t events)
{
    struct epoll_event ev = { .events = events, .data.ptr = w };

    if (w->is_added && w->events == events)
        return 0;
    if (events == 0) { /* a registered descriptor would keep reporting its hang-up */
        agent_loop_unwatch(l, w);
        return 0;
    }
    if (epoll_ctl(l->epfd, w->is_added ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, w->fd, &ev) < 0)
        return -errno;
    w->is_added = true;
    w->events = events;
    return 0;
}

void agent_loop_unwatch(struct agent_loop *l, struct agent_watch *w)
{
    if (w->is_added)
        (void)epoll_ctl(l->epfd, EPOLL_CTL_DEL, w->fd, NULL); /* fails only when the fd is already closed */
    w->is_added = false;
    w->events = 0;
    for (int i = l->at; i < l->n; i++)
        if (l->batch[i].data.ptr == w)
            l->batch[i].data.ptr = NULL;
}

void agent_loop_close(struct agent_loop *l, struct agent_watch *w)
{
    if (w->fd < 0)
        return;
    agent_loop_unwatch(l, w);
    (void)close(w->fd);
    w->fd = -EBADF;
}

void agent_loop_arm(struct agent_loop *l, struct agent_timer *t, uint64_t after_ms)
{
    struct agent_timer **at = &l->timers;

    agent_loop_disarm(l, t);
    t->due_ms = agent_loop_now_us() / 1000 + after_ms + 1;
    while (*at && (*at)->due_ms <= t->due_ms)
        at = &(*at)->next;
    t->next = *at;
    *at = t;
}

void agent_loop_disarm(struct agent_loop *l, struct agent_timer *t)
{
    if (t->due_ms == 0)
        return;
    for (struct agent_timer **at = &l->timers; *at; at = &(*at)->next)
        if (*at == t) {
            *at = t->next;
            break;
        }
    t->due_ms = 0;
}

void agent_loop_run(struct agent_loop *l, void (*before_wait)(void *arg), void *arg)
{
    while (!l->is_stopped) {
        if (before_wait)
            before_wait(arg);
        if (l->is_stopped)
            break;
        int wait_ms = -1;
        if (l->timers) {
            uint64_t now = agent_loop_now_us() / 1000;
            uint64_t left = l->timers->due_ms > now ? l->timers->due_ms - now : 0;
            wait_ms = left > 60000 ? 60000 : (int)left;
        }
        int n = epoll_wait(l->epfd, l->batch, AGENT_LOOP_BATCH, wait_ms);
        l->n = n > 0 ? n : 0;
        for (l->at = 0; l->at < l->n && !l->is_stopped;) {
            struct epoll_event ev = l->batch[l->at++];
            struct agent_watch *w = ev.data.ptr;
            if (w)
                w->fn(w, ev.events);
        }
        l->n = l->at = 0;
        uint64_t now = l->timers ? agent_loop_now_us() / 1000 : 0;
        while (l->timers && l->timers->due_ms <= now) {
            struct agent_timer *t = l->timers;
            agent_loop_disarm(l, t);
            t->fn(t);
        }
    }
}

void agent_loop_stop(struct agent_loop *l)
{
    l->is_stopped = true;
}
