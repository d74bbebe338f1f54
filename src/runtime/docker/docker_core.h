/* Shared by the files of the driver. */
#pragma once
#include <sys/types.h>

#include "base/list.h"
#include "runtime/box_life.h"
#include "runtime/docker/agent_socket.h"
#include "runtime/docker/agentless.h"
#include "runtime/docker/call.h"
#include "runtime/docker/messages.h"
#include "runtime/runtime.h"

#define DOCKER_WHY_MAX    200
#define DOCKER_NET_PREFIX "iii-net-"

/* Removal of containers, see removal.c. */
struct docker_removal {
    struct ending *first; /* removals under way */
    bool is_told;         /* the server has adopted its boxes: all other containers may be removed */
    bool is_due;          /* a removal failed: the next sweep tries again */
    bool is_sweeping;
    bool is_last;     /* the server is shutting down */
    json_t *doubted;  /* id of a box that the engine may still be creating -> whether its folder must stay */
    json_t *kept;     /* ids of boxes that continue without us */
    int64_t since_ms; /* time of the newest doubt */
    int64_t next_ms;  /* the next sweep */
    unsigned n_looks;
    struct timer *look;
};

struct docker {
    struct runtime base; /* first */
    struct docker_call_host host;
    struct docker_call_set calls;
    struct docker_agent_socket *agent_socket;
    char *runtime;
    struct box *boxes; /* created, being created or being adopted */
    struct timer *tick;
    struct docker_removal end;
    json_t *halted;                       /* ids of boxes whose containers have exited and are kept */
    struct docker_messages_powers powers; /* as the engine reported last; before that: all */
    bool are_powers_due;                  /* it was unreachable: it may have been replaced */
    json_t *pins;                         /* owner -> image id, "docker:sha256:…" */
    json_t *captured;                     /* image ids of our own commits */
    json_t *copies;                       /* NAME -> the current copy's name, see image.c */
    bool has_old_copies;                  /* a container uses one */
    bool is_collect_due, is_collecting;
    unsigned n_committing; /* images that nobody could pin yet */
    unsigned collect_tries;
    json_t *nets;                     /* ids of our networks in the engine */
    struct docker_net_job *net_first; /* one at a time */
};

struct box {
    struct box_life life; /* first */
    struct docker *d;
    struct box *next;
    char id[IDENT_MAX];
    char container[DOCKER_MESSAGES_ID_MAX];  /* "" until the engine has reported it */
    struct docker_agent_socket_caller agent; /* its fd has been handed over */
    char no_agent[DOCKER_WHY_MAX];           /* why the engine's exec stands in for the agent; "" when there is one */
    struct docker_agentless *proxy;
    struct docker_limits {
        uint32_t memory_mb, cpu_milli, pids_max;
    } limits;       /* as the engine was last asked to set them */
    bool is_paused; /* as we were asked; an engine also pauses briefly while it commits */
};

static inline struct docker *docker_of(struct runtime *rt)
{
    return (struct docker *)rt;
}

extern const struct runtime_images docker_image_ops;
extern const struct runtime_saves docker_image_saves;
void docker_image_collect_soon(struct docker *d); /* removes committed images that nobody pins, and old copies */
void docker_image_collect(struct docker *d);

void docker_net_create(struct runtime *rt, const struct box_plug *net, box_done_fn *fn, void *arg);
void docker_net_delete(struct runtime *rt, const char *net_id, box_done_fn *fn, void *arg);
void docker_net_attach(struct box *box, const struct box_plug *plug, box_done_fn *fn, void *arg);
void docker_net_detach(struct box *box, const struct box_plug *plug, box_done_fn *fn, void *arg);
void docker_net_sweep(struct docker *d);     /* removes those that nobody has requested since the start */
void docker_net_drop_jobs(struct docker *d); /* after docker_call_end_all() */
void docker_net_leave(struct docker *d);     /* at shutdown: removes networks without members, then stops the loop */

struct docker_removal_target {
    const char *id;        /* of the box */
    const char *container; /* "" when the engine never reported it */
    bool is_paused;
};
void docker_removal_remove(struct docker *d, const struct docker_removal_target *target, box_done_fn *fn, void *arg);
void docker_removal_keep(struct docker *d, const char *box_id);  /* it continues without us */
void docker_removal_doubt(struct docker *d, const char *box_id); /* the engine has not answered whether it created it */
/* Removes what no box names, now and repeatedly for a while. After adoption. */
void docker_removal_first_sweep(struct docker *d, box_done_fn *fn, void *arg);
bool docker_removal_tick(struct docker *d); /* true: it has sweeps to do */
void docker_removal_last(struct docker *d); /* at shutdown, after docker_call_end_all(). Blocks for a moment */

/* --- halt.c: containers that have exited and keep their files --- */
/* Ends its processes. ERR_NOT_FOUND: the engine has no such container. is_own: fn is called when the server ends, too.
 */
void docker_halt_box(const struct box *box, bool is_own, box_done_fn *fn, void *arg);
/* The same for a container that is to be started; is_own. Takes limits; NULL: they have not changed. */
void docker_halt_prepare(const struct box *box, json_t *limits, box_done_fn *fn, void *arg);
void docker_halt_retain(struct runtime *rt, const json_t *record, box_done_fn *fn, void *arg);
void docker_halt_discard(struct runtime *rt, const json_t *record, box_done_fn *fn, void *arg);

int docker_stat_read(struct box *box, struct box_stats *ret, struct err *err);
