/* The place where a container's agent calls us: a folder of the host with the agent and a socket, which the container
 * sees read-only. We listen and the agent calls, so nothing is ever opened here that a container could have put there,
 * and any uid, user namespace or runtime inside will do. A socket stands only while a call is waited for.
 * May include: base/, loop/, os/. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "loop/loop.h"

struct dkdoor; /* of all boxes */
struct dkdoor_wait;

/* Makes FOLDER/docker with the agent of this binary in it. */
int dkdoor_new(struct loop *l, const char *folder, struct dkdoor **ret, struct err *err);
struct dkdoor *dkdoor_free(struct dkdoor *d);
const char *dkdoor_tag(const struct dkdoor *d); /* what marks this data folder's things: 16 hex digits */

/* The folder of one box on the host, to be mounted. Caller frees. */
char *dkdoor_folder(const struct dkdoor *d, const char *box_id);
void dkdoor_remove(struct dkdoor *d, const char *box_id);
/* Tells of every folder of a box. is_waiting: a call is, or was by whoever died, waited for. */
void dkdoor_each(struct dkdoor *d, void (*fn)(void *arg, const char *box_id, bool is_waiting), void *arg);
/* Removes the folders of all boxes for which is_kept says no. */
void dkdoor_sweep(struct dkdoor *d, bool (*is_kept)(void *arg, const char *box_id), void *arg);

struct dkdoor_caller {
    int fd;         /* the receiver's */
    pid_t pid;      /* 0: not in our process namespace */
    uint64_t since; /* when it began, clock ticks since boot; 0: not known */
};
typedef void dkdoor_fn(void *arg, const struct dkdoor_caller *caller);
/* Makes the folder and listens in it; fn comes at most once, with the first caller that is `only` (pid and since, or
 * any when its pid is 0). */
int dkdoor_open(struct dkdoor *d, const char *box_id, const struct dkdoor_caller *only, dkdoor_fn *fn, void *arg,
                struct dkdoor_wait **ret, struct err *err);
struct dkdoor_wait *dkdoor_close(struct dkdoor_wait *w);
