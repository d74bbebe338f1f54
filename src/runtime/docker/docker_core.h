/* Inside the driver: what its files share. */
#pragma once
#include <sys/types.h>

#include "runtime/docker/agent_socket.h"
#include "runtime/docker/agentless.h"
#include "runtime/docker/call.h"
#include "runtime/docker/host.h"
#include "runtime/docker/messages.h"
#include "runtime/runtime.h"

#define DOCKER_WHY_MAX 200

/* Containers that end, see removal.c. */
struct docker_removal {
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
    struct docker_host host;
    struct docker_call_set calls;
    struct docker_agent_socket *agent_socket;
    char *runtime;
    struct box *boxes; /* made, being made or being adopted */
    struct timer *tick;
    struct docker_removal end;
    struct docker_messages_powers powers; /* as the engine said last; before that: all */
    bool are_powers_due;                  /* it has been away: it may be another one */
    json_t *pins;                         /* owner -> image id, "docker:sha256:…" */
    json_t *captured;                     /* image ids of our own commits */
    bool is_collect_due, is_collecting;
    unsigned n_committing; /* images that nobody could pin yet */
    unsigned collect_tries;
    json_t *nets;                     /* ids of networks that the engine has for us */
    struct docker_net_job *net_first; /* one at a time */
};

struct box {
    struct docker *d;
    struct box *next;
    char id[IDENT_MAX];
    char container[DOCKER_MESSAGES_ID_MAX];  /* "" until the engine has said it */
    struct docker_agent_socket_caller agent; /* its fd is not ours any more */
    char no_agent[DOCKER_WHY_MAX];           /* why the engine's exec stands in for it; "" when there is one */
    struct docker_agentless *proxy;
    bool is_paused; /* as we were asked; an engine that commits pauses for a moment by itself */
};

static inline struct docker *docker_of(struct runtime *rt)
{
    return (struct docker *)rt;
}

extern const struct runtime_images docker_image_ops;
extern const struct runtime_saves docker_image_saves;
void docker_image_collect_soon(struct docker *d); /* committed images that nobody pins */
void docker_image_collect(struct docker *d);

void docker_net_create(struct runtime *rt, const struct box_plug *net, box_done_fn *fn, void *arg);
void docker_net_delete(struct runtime *rt, const char *net_id, box_done_fn *fn, void *arg);
void docker_net_attach(struct box *box, const struct box_plug *plug, box_done_fn *fn, void *arg);
void docker_net_detach(struct box *box, const struct box_plug *plug, box_done_fn *fn, void *arg);
void docker_net_sweep(struct docker *d);     /* removes those that nobody has asked for since the start */
void docker_net_drop_jobs(struct docker *d); /* after docker_call_end_all() */
void docker_net_leave(struct docker *d);     /* the last act: networks without members go; then the loop is stopped */

struct docker_removal_target {
    const char *id;        /* of the box */
    const char *container; /* "" when the engine never said it */
    bool is_paused;
};
void docker_removal_remove(struct docker *d, const struct docker_removal_target *target, box_done_fn *fn, void *arg);
void docker_removal_keep(struct docker *d, const char *box_id);  /* it goes on without us */
void docker_removal_doubt(struct docker *d, const char *box_id); /* the engine has not said whether it made it */
/* Removes what no box names, now and for a while. After adoption. */
void docker_removal_first_sweep(struct docker *d, box_done_fn *fn, void *arg);
bool docker_removal_tick(struct docker *d); /* true: it has sweeps to do */
void docker_removal_last(struct docker *d); /* the last act, after docker_call_end_all(). Blocks for a moment */

int docker_stat_read(const struct box *box, struct box_stats *ret, struct err *err);
