/* What the parts of the fake driver share. Private to runtime/fake/. */
#pragma once
#include "base/list.h"
#include "base/map.h"
#include "runtime/box_life.h"
#include "runtime/fake/fake.h"

#define FAKE_BOX_MAGIC 0xfa4eb0c5u

struct fake_box {
    char id[IDENT_MAX], hostname[64];
    struct map *files;    /* path -> struct buf */
    struct map *volumes;  /* target -> volume id */
    struct map *networks; /* id -> address */
    bool is_dead, is_paused;
    bool is_halted; /* only its files are there */
    char *console, *leftover;
    uint32_t memory_mb, cpu_milli, pids_max, disk_mb;
    uint64_t disk_bytes; /* as last measured */
    struct box *handle;  /* NULL: nobody has it */
};

struct script {
    struct script *next;
    enum fake_op op;
    unsigned left;
    struct fake_fate fate;
};

struct fake_host {
    char *dir;
    struct map *boxes, *volumes; /* by id; a volume is there or not */
    struct script *scripts;
    fake_fate_fn *fate_fn;
    void *fate_arg;
    bool is_sharing;
    bool is_reusing;   /* fake_reuse_addresses() */
    struct box *spare; /* the last box that was freed */
    unsigned n_captured, n_calls[FAKE_OPS];
    char *complaint;
    struct fake *driver; /* NULL: no daemon runs */
};

enum call_kind { CALL_READY, CALL_DONE, CALL_CAPTURE, CALL_PROMOTE, CALL_EGRESS, CALL_NOTICE };

/* An answer on its way. */
struct call {
    struct call *next;
    struct fake *f;
    enum call_kind kind;
    struct timer *timer;
    union {
        box_ready_fn *ready;
        box_done_fn *done;
        box_capture_fn *capture;
        box_promote_fn *promote;
        box_egress_fn *egress;
        loop_fn *notice;
    } fn;
    void *arg;
    struct err err;
    struct box *box; /* of a create or adoption: its result; of a notice: whom it is about, or NULL */
    int fds[2];      /* the guest's end; or the two of an egress */
    char *folder;
    int64_t size_bytes;
    bool is_shared, is_adopted;
    bool is_kept; /* a create over kept files */
};

struct box {
    struct box_life life; /* first */
    unsigned magic;
    struct fake *f;
    struct fake_box *fb;
    struct fakeagent *agent;
};

struct fake_network {
    uint32_t subnet;
};

struct fake {
    struct runtime base;
    struct fake_host *host;
    bool owns_host;
    struct map *networks; /* they end with the driver */
    struct call *calls;
    loop_fn *restart_fn;
    void *restart_arg;
};

static inline struct fake *fake_of(struct runtime *rt)
{
    return (struct fake *)rt;
}

/* Whether a call is to be carried out; else *err is its answer. The second: a call for a box, which has to be alive. */
bool fake_begin(struct fake *f, enum fake_op op, const char *id, struct fake_fate *fate, struct err *err);
bool fake_begin_alive(struct box *box, enum fake_op op, struct fake_fate *fate, struct err *err);
/* Its answer goes out; then fake_end(). */
void fake_post(struct fake *f, const struct call *what, int64_t delay_ms);
void fake_post_done(struct fake *f, const struct fake_fate *fate, const struct err *err, box_done_fn *fn, void *arg);
void fake_end(struct fake *f, struct fake_box *fb, const struct fake_fate *fate); /* fb: who dies; or NULL */
void fake_complain(struct fake_host *h, const char *what, const char *id);

/* --- fakenet.c: volumes, networks, egress --- */
void fakenet_mount(struct box *box, const struct box_volume *v, box_done_fn *fn, void *arg);
void fakenet_unmount(struct box *box, const struct box_volume *v, box_done_fn *fn, void *arg);
void fakenet_remove_volume(struct runtime *rt, const char *id, box_done_fn *fn, void *arg);
void fakenet_create(struct runtime *rt, const struct box_plug *net, box_done_fn *fn, void *arg);
void fakenet_delete(struct runtime *rt, const char *net_id, box_done_fn *fn, void *arg);
void fakenet_attach(struct box *box, const struct box_plug *plug, box_done_fn *fn, void *arg);
void fakenet_detach(struct box *box, const struct box_plug *plug, box_done_fn *fn, void *arg);
void fakenet_open_egress(struct box *box, box_egress_fn *fn, void *arg);
