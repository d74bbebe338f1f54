/* Inside the driver: what its files share. */
#pragma once
#include <sys/types.h>

#include "runtime/docker/dkcall.h"
#include "runtime/docker/dkdoor.h"
#include "runtime/docker/dkhost.h"
#include "runtime/docker/dkproxy.h"
#include "runtime/docker/dkreply.h"
#include "runtime/runtime.h"

#define DOCKER_WHY_MAX 200

/* Containers that end, see dkend.c. */
struct dkend {
    struct ending *first; /* removals under way */
    bool is_told;         /* the server has named its boxes: what else there is goes */
    bool is_due;          /* a removal failed: a sweep is to try again */
    bool is_sweeping;
    bool is_last;     /* the server ends */
    json_t *doubted;  /* id of a box that the engine may still be making -> whether its folder is to stay */
    json_t *kept;     /* ids of boxes that go on without us */
    int64_t since_ms; /* of the newest doubt */
    int64_t next_ms;  /* the next sweep */
    unsigned n_looks;
    struct timer *look;
};

struct docker {
    struct runtime base; /* first */
    struct dkhost host;
    struct dkcall_set calls;
    struct dkdoor *door;
    char *runtime;
    struct box *boxes; /* made, being made or being adopted */
    struct timer *tick;
    struct dkend end;
    struct dkreply_powers powers; /* as the engine said last; before that: all */
    bool are_powers_due;          /* it has been away: it may be another one */
    json_t *pins;                 /* owner -> image id, "docker:sha256:…" */
    json_t *captured;             /* image ids of our own commits */
    bool is_collect_due, is_collecting;
    unsigned n_committing; /* images that nobody could pin yet */
    unsigned collect_tries;
    json_t *nets;                /* ids of networks that the engine has for us */
    struct dknet_job *net_first; /* one at a time */
};

struct box {
    struct docker *d;
    struct box *next;
    char id[IDENT_MAX];
    char container[DKREPLY_ID_MAX]; /* "" until the engine has said it */
    struct dkdoor_caller agent;     /* its fd is not ours any more */
    char no_agent[DOCKER_WHY_MAX];  /* why the engine's exec stands in for it; "" when there is one */
    struct dkproxy *proxy;
    bool is_paused; /* as we were asked; an engine that commits pauses for a moment by itself */
};

static inline struct docker *docker_of(struct runtime *rt)
{
    return (struct docker *)rt;
}

extern const struct runtime_images dkimage_ops;
extern const struct runtime_saves dkimage_saves;
void dkimage_collect_soon(struct docker *d); /* committed images that nobody pins */
void dkimage_collect(struct docker *d);

void dknet_create(struct runtime *rt, const struct box_plug *net, box_done_fn *fn, void *arg);
void dknet_delete(struct runtime *rt, const char *net_id, box_done_fn *fn, void *arg);
void dknet_attach(struct box *box, const struct box_plug *plug, box_done_fn *fn, void *arg);
void dknet_detach(struct box *box, const struct box_plug *plug, box_done_fn *fn, void *arg);
void dknet_sweep(struct docker *d);     /* removes those that nobody has asked for since the start */
void dknet_drop_jobs(struct docker *d); /* after dkcall_end_all() */
void dknet_leave(struct docker *d);     /* the last act: networks without members go; then the loop is stopped */

struct dkend_target {
    const char *id;        /* of the box */
    const char *container; /* "" when the engine never said it */
    bool is_paused;
};
void dkend_remove(struct docker *d, const struct dkend_target *target, box_done_fn *fn, void *arg);
void dkend_keep(struct docker *d, const char *box_id);  /* it goes on without us */
void dkend_doubt(struct docker *d, const char *box_id); /* the engine has not said whether it made it */
/* Removes what no box names, now and for a while. After adoption. */
void dkend_first_sweep(struct docker *d, box_done_fn *fn, void *arg);
bool dkend_tick(struct docker *d); /* true: it has sweeps to do */
void dkend_last(struct docker *d); /* the last act, after dkcall_end_all(). Blocks for a moment */

int dkstat_read(const struct box *box, struct box_stats *ret, struct err *err);
