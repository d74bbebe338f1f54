/* The agent's event loop: descriptors by epoll, timers in a sorted list. One thread, nothing blocks.
 * Invariant: a watch or timer may be removed and freed inside any callback; events already fetched for it are
 * forgotten. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>

struct ag_watch {
    int fd;          /* -EBADF: not in use */
    uint32_t events; /* what epoll was told */
    bool is_added;
    void (*fn)(struct ag_watch *w, uint32_t events);
};

struct ag_timer {
    uint64_t due_ms; /* 0: not armed */
    struct ag_timer *next;
    void (*fn)(struct ag_timer *t);
};

#define AG_LOOP_BATCH 32

struct ag_loop {
    int epfd;
    bool is_stopped;
    struct ag_timer *timers;
    int n, at; /* the batch being handed out */
    struct epoll_event batch[AG_LOOP_BATCH];
};

int ag_loop_init(struct ag_loop *l);
void ag_loop_done(struct ag_loop *l);
/* Runs until ag_loop_stop(). before_wait (may be NULL) is called each time the loop is about to sleep. */
void ag_loop_run(struct ag_loop *l, void (*before_wait)(void *arg), void *arg);
void ag_loop_stop(struct ag_loop *l);

/* Asks for events (EPOLLIN, EPOLLOUT or 0 for none); adds the watch when it is new. 0 or -errno. */
int ag_loop_watch(struct ag_loop *l, struct ag_watch *w, uint32_t events);
/* Forgets the watch; the descriptor stays open. */
void ag_loop_unwatch(struct ag_loop *l, struct ag_watch *w);
/* Forgets the watch and closes its descriptor; fine when there is none. */
void ag_loop_close(struct ag_loop *l, struct ag_watch *w);

void ag_loop_arm(struct ag_loop *l, struct ag_timer *t, uint64_t after_ms);
void ag_loop_disarm(struct ag_loop *l, struct ag_timer *t);
uint64_t ag_loop_now_us(void); /* CLOCK_MONOTONIC */
