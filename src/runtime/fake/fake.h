/* A driver whose boxes are records in memory: no process, no privilege, no kernel feature. For tests and load without
 * sandboxes (`III_ISOLATION_BACKEND=fake`): it isolates nothing. Every operation can be scripted to fail, to be slow,
 * to lose its answer or to kill the box. At the other end of a box's stream an agent in this process speaks the real
 * protocol (fakeagent.h). Untrusted: nothing. May include: base/, os/, loop/, guest/proto.h. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "runtime/runtime.h"

#define FAKE_WARNING "the fake backend isolates nothing and runs nothing; for tests"

struct fake_host; /* what outlives a daemon: boxes, their files, volumes */

/* dir: an existing folder for captured files, on the file system of the image store. Copied. NULL: no captures. */
struct fake_host *fake_host_new(const char *dir);
struct fake_host *fake_host_free(struct fake_host *h); /* after the runtimes on it */
DEFINE_CLEANUP(struct fake_host *, fake_host_free)

/* One daemon's driver over the host; one at a time. Its free() ends the agents' connections and all networks, answers
 * nothing more, and leaves boxes and volumes for the next. owns_host: frees the host, too. */
struct runtime *fake_new(struct loop *l, struct fake_host *h, bool owns_host);

enum fake_op {
    FAKE_CREATE,
    FAKE_ADOPT,
    FAKE_DESTROY,
    FAKE_HALT,
    FAKE_RETAIN,
    FAKE_DISCARD,
    FAKE_PAUSE,
    FAKE_RESUME,
    FAKE_SET_LIMITS,
    FAKE_GROW_DISK,
    FAKE_MEASURE,
    FAKE_CAPTURE, /* promote, too */
    FAKE_SWEEP,
    FAKE_MOUNT,
    FAKE_UNMOUNT,
    FAKE_REMOVE_VOLUME,
    FAKE_NET_CREATE,
    FAKE_NET_DELETE,
    FAKE_NET_ATTACH,
    FAKE_NET_DETACH,
    FAKE_EGRESS,
    FAKE_OPS
};
const char *fake_op_name(enum fake_op op);

/* The outcome of one call. Its effect is immediate, so calls take effect in order; the answer comes on a later turn,
 * after delay_ms. */
enum fake_outcome {
    FAKE_DONE,
    FAKE_FAIL, /* nothing is done; the answer is an error of the code (ERR_INTERNAL when 0) */
    FAKE_LOSE, /* done, but the driver's helper process ends before it answers: this and all other open calls fail with
                * EPIPE, all networks are gone, then on_restart() is told */
    FAKE_DIE,  /* done, and the box dies before the answer; of a create: the box arrives dead */
};
struct fake_fate {
    enum fake_outcome outcome;
    enum err_code code; /* FAKE_FAIL */
    int64_t delay_ms;   /* of the loop's time; 0: the next turn */
};
/* The nth call of op from now on (1: the next one) has this fate. */
void fake_script(struct fake_host *h, enum fake_op op, unsigned nth, struct fake_fate fate);
/* Asked about every call that no script is for. NULL: all are done on the next turn. */
typedef struct fake_fate fake_fate_fn(void *arg, enum fake_op op, const char *id);
void fake_on_op(struct fake_host *h, fake_fate_fn *fn, void *arg);
/* Whether captures of a box are shared with it (promoted) from now on; else copies. Default: shared. */
void fake_share(struct fake_host *h, bool is_shared);
/* A new box is where the last one was that was freed, as an allocator may do: who compares addresses is wrong then. */
void fake_reuse_addresses(struct fake_host *h);

/* --- events of the host; -ENOENT: no such box --- */
int fake_kill_box(struct fake_host *h, const char *id, const char *console); /* console: its last output, or NULL */
int fake_kill_agent(struct fake_host *h, const char *id);                    /* the box continues without it */
int fake_lose_box(struct fake_host *h, const char *id); /* gone with its files, without a callback */
void fake_reboot(struct fake_host *h); /* while no driver runs: all boxes are dead, their files are there */

/* --- what there is: for those who compare. All borrowed --- */
struct fake_view {
    const char *id, *hostname;
    bool is_dead, is_paused, is_connected; /* connected: a driver has a handle of it */
    bool is_halted;                        /* only its files are there */
    uint32_t memory_mb, cpu_milli, pids_max, disk_mb;
    size_t n_volumes, n_networks, n_running; /* n_running: commands */
    const char *leftover;                    /* of a promote, or NULL */
};
typedef void fake_view_fn(void *arg, const struct fake_view *v);
void fake_each(struct fake_host *h, fake_view_fn *fn, void *arg);
bool fake_find(struct fake_host *h, const char *id, struct fake_view *ret);
const char *fake_file(struct fake_host *h, const char *id, const char *path, size_t *ret_len); /* NULL: no such file */
const char *fake_mounted(struct fake_host *h, const char *id, const char *target); /* the volume there; or NULL */
uint32_t fake_address(struct fake_host *h, const char *id, const char *net_id);    /* 0: not attached */
bool fake_has_volume(struct fake_host *h, const char *volume_id);                  /* it has a place for files */
size_t fake_count_volumes(const struct fake_host *h);
size_t fake_count_networks(const struct fake_host *h);
size_t fake_count_open(const struct fake_host *h); /* calls without an answer yet */
unsigned fake_count_calls(const struct fake_host *h, enum fake_op op);
/* A misuse of the driver by its caller: a box used after its end, one volume in two boxes, one address twice. NULL:
 * none. */
const char *fake_complaint(const struct fake_host *h);
