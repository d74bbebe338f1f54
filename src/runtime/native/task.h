/* Slow work of the launcher, in children of low priority: removing folders of dead boxes (one remover at a time),
 * copying the writable layer of a paused one, counting disk usage, mounting volumes, changing limits. Only the launcher
 * process uses this. May include: base/, os/. */
#pragma once
#include "base/buf.h"
#include "runtime/native/box.h"

struct task; /* one child at work */

struct native_task_list {
    struct task *running;
    bool is_removing;
    bool is_ending;    /* somebody waits for the removers: they run at full priority */
    struct buf doomed; /* names below boxes/, NUL-terminated */
    int epoll;         /* readable when a child has exited */
    unsigned counter;
};

struct native_task_result { /* of what somebody waits for */
    uint32_t op;            /* WIRE_CAPTURE, WIRE_MEASURE, or of native_task_request() */
    char name[WIRE_NAME_MAX];
    char upper[32]; /* the folder of the box that is copied */
    bool has_disk;  /* it is on the box's disk */
    uint64_t number;
    int result;
    int64_t bytes;
    char folder[64];
    struct err err;
};
typedef void native_task_copied_fn(void *arg, const struct native_task_result *res);

void native_task_init(struct native_task_list *l);
int native_task_fd(const struct native_task_list *l);
void native_task_remove(struct native_task_list *l,
                        const char *name); /* queues; native_task_step() starts the remover */
int native_task_copy(struct native_task_list *l, struct native_box_site *site, const struct native_box *c,
                     uint64_t number, struct err *err);
int native_task_count(struct native_task_list *l, struct native_box_site *site, const struct native_box *c,
                      uint64_t number, struct err *err);
/* Carries out a request that may take long: mounts, unmounts or counts a volume (volume_mount.h), changes the limits of
 * a box, where the kernel may have to reclaim memory, or grows its disk. c: NULL to count. */
int native_task_request(struct native_task_list *l, struct native_box_site *site, struct native_box *c,
                        const struct wire_request *q, struct err *err);
/* Collects ended children and starts waiting work. Never blocks. */
void native_task_step(struct native_task_list *l, struct native_box_site *site, native_task_copied_fn *fn, void *arg);
/* Waits for all children and removes what is left. Only when the launcher shuts down. */
void native_task_finish(struct native_task_list *l, struct native_box_site *site);
