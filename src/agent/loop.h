/* The agent's event loop: descriptors by epoll, timers in a sorted list. One thread, nothing blocks. Invariant: a
 * watch or timer may be removed and freed inside any callback; events already fetched for it are dropped. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>

struct agent_watch {
    int fd;          /* -EBADF: not in use */
    uint32_t events; /* as registered with epoll */
    bool is_added;
    void (*fn)(struct agent_watch *w, uint32_t events);
};

struct agent_timer {
    uint64_t due_ms; /* 0: not armed */
    struct agent_timer *next;
    void (*fn)(struct agent_timer *t);
};

#define AGENT_LOOP_BATCH 32

struct agent_loop {
    int epfd;
    bool is_stopped;
    struct agent_timer *timers;
    int n, at; /* the batch being dispatched */
    struct epoll_event batch[AGENT_LOOP_BATCH];
};

int agent_loop_init(struct agent_loop *l);
void agent_loop_done(struct agent_loop *l);
/* Runs until agent_loop_stop(). before_wait (may be NULL) is called each time the loop is about to sleep. */
void agent_loop_run(struct agent_loop *l, void (*before_wait)(void *arg), void *arg);
void agent_loop_stop(struct agent_loop *l);

/* Registers for events (EPOLLIN, EPOLLOUT or 0 for none); adds the watch when it is new. 0 or -errno. */
int agent_loop_watch(struct agent_loop *l, struct agent_watch *w, uint32_t events);
/* Removes the watch; the descriptor stays open. */
void agent_loop_unwatch(struct agent_loop *l, struct agent_watch *w);
/* Removes the watch and closes its descriptor; fine when there is none. */
void agent_loop_close(struct agent_loop *l, struct agent_watch *w);

void agent_loop_arm(struct agent_loop *l, struct agent_timer *t, uint64_t after_ms);
void agent_loop_disarm(struct agent_loop *l, struct agent_timer *t);
uint64_t agent_loop_now_us(void); /* CLOCK_MONOTONIC */
