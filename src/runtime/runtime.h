/* The driver vtable: what makes, freezes, captures and destroys a box and hands over a connected guest agent.
 * Everything else (exec, files, terminals, tunnels) is the agent's work. A driver's abilities are data: what it cannot
 * do is reported by name, never faked. All calls return at once; results come on the loop. May include: base/, os/,
 * loop/. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/ident.h"
#include "base/json.h"
#include "base/limits.h"
#include "loop/loop.h"

struct runtime;
struct box; /* one sandbox as the driver sees it */

struct box_plan {
    char id[IDENT_MAX]; /* sandbox id; also the hostname unless hostname is set */
    char hostname[64];
    const char *const *layers; /* absolute folders, lowest first, or one image of the backend's own; borrowed */
    size_t n_layers;
    bool is_host;        /* bind the host's /usr read-only */
    const char *workdir; /* made when missing */
    uint32_t memory_mb, pids_max;
    uint32_t cpu_milli;       /* 1000 = one core */
    uint32_t disk_mb, inodes; /* a disk of its own, see can_limit_disk; both 0 = none */
    uint32_t nofile, shm_mb;  /* descriptors of one process, size of /dev/shm; 0 = the driver's */
    bool has_network;         /* loopback only when false */
};

struct box_stats {
    uint64_t cpu_usage_us; /* since the box was made */
    uint64_t memory_bytes, memory_limit_bytes;
    uint64_t rx_bytes, tx_bytes;
    uint64_t rx_packets, tx_packets;
    uint32_t pids;
    uint64_t oom_kills;
    uint64_t disk_bytes; /* of a disk of its own, as the host has it; without one: as last measured, 0 = never */
};

/* What a driver can do here, and what clients and tests call it. */
#define RUNTIME_CAPS(X)                                                  \
    X(can_pause, "pause")                                                \
    X(can_capture, "snapshot")                                           \
    X(can_limit_memory, "limitMemory")                                   \
    X(can_limit_cpu, "limitCpu")                                         \
    X(can_limit_pids, "limitPids")                                       \
    X(can_limit_disk, "limitDisk") /* a disk of its own */               \
    X(can_limit_rate, "limitRate") /* of a network */                    \
    X(can_network, "network")      /* connect boxes to each other */     \
    X(can_mount, "volume")         /* volumes, while they run */         \
    X(can_egress, "egress")        /* a way out that the daemon holds */ \
    X(can_rename, "hostname")      /* a running box gets another */      \
    X(can_measure, "diskWatch")    /* see measure() */                   \
    X(has_store, "imageStore")     /* it runs images of our own store */ \
    X(has_host, "hostFiles")       /* and the host's own files */        \
    X(has_layers, "layers")        /* what it captures is a layer: only what changed */

struct runtime_caps {
#define RUNTIME_CAP(field, name) bool field;
    RUNTIME_CAPS(RUNTIME_CAP)
#undef RUNTIME_CAP
    bool has_uid_range;
};

/* Why a driver cannot do something, when caps() says that it cannot, by the name above. */
struct runtime_lack {
    const char *name, *reason;
};

struct box_volume {
    const char *id;     /* its folder is the driver's business; made at the first mount */
    const char *target; /* absolute, in the box */
    bool is_readonly;
};

/* One membership: what the box is called by in that network. */
struct box_plug {
    const char *net_id;
    uint32_t subnet;  /* number of the network, unique among those of the server, below RUNTIME_SUBNETS */
    uint32_t address; /* IPv4, host order */
    uint32_t prefix;
    uint32_t kbps; /* rate each way, kbit/s; 0 = no limit */
};
#define RUNTIME_SUBNETS LIMIT_MAX(NETWORKS)

/* guest_fd: a connected stream to the agent, owned by the receiver. err is set when box is NULL. */
typedef void box_ready_fn(void *arg, struct box *box, int guest_fd, const struct err *err);
typedef void box_done_fn(void *arg, const struct err *err); /* err NULL: done */
/* Sockets inside the box's network: TCP that wants to leave it (SO_ORIGINAL_DST says where to), and its DNS queries.
 * Owned by the receiver. err is set when they are not there. */
typedef void box_egress_fn(void *arg, int tcp_fd, int dns_fd, const struct err *err);
/* folder: a host folder with the captured writable layer, now the receiver's (hand it to image_add_layer). */
typedef void box_capture_fn(void *arg, const char *folder, int64_t size_bytes, const struct err *err);
/* is_shared: the folder is also a layer of the running box from now on. It may be moved on its file system, must not be
 * changed, and has to stay while the box lives. size_bytes is -1 when nobody has counted. */
typedef void box_promote_fn(void *arg, const char *folder, int64_t size_bytes, bool is_shared, const struct err *err);

/* An image that the backend keeps itself. Borrowed during the call that tells it. */
struct box_image {
    const char *id; /* what a plan names as its only layer: "BACKEND:…" */
    char **env, **entrypoint, **cmd;
    const char *user, *workdir;
    int64_t size_bytes;
};
struct box_pull;
typedef void box_image_fn(void *arg, const struct box_image *image, const struct err *err); /* image NULL: see err */
typedef void box_pull_fn(void *arg, int64_t done_bytes, int64_t total_bytes, int layers_done, int layers);
typedef void box_json_fn(void *arg, json_t *list, const struct err *err); /* list is the receiver's */

/* Images of a backend that brings its own (an engine). */
struct runtime_images {
    void (*resolve)(struct runtime *rt, const char *name, box_image_fn *fn, void *arg); /* ERR_NOT_FOUND: not here */
    /* fn comes later, also after a cancel. */
    struct box_pull *(*pull)(struct runtime *rt, const char *name, box_pull_fn *progress, box_image_fn *fn, void *arg);
    void (*cancel)(struct box_pull *pull);
    void (*list)(struct runtime *rt, box_json_fn *fn, void *arg); /* [{name,id,size,layers,createdAt,source}] */
    void (*remove)(struct runtime *rt, const char *name, box_done_fn *fn, void *arg);
};

/* Captures that are the backend's own: an engine's commits, machines saved with their memory. */
struct runtime_saves {
    /* The box as an image, pinned for owner; the box goes on. */
    void (*commit)(struct box *box, const char *owner, box_image_fn *fn, void *arg);
    /* A committed image goes with its last pin. Pins are not stored: whoever holds one pins again after a restart,
     * before sweep(). A later pin of an owner replaces the earlier. */
    void (*pin)(struct runtime *rt, const char *id, const char *owner);
    void (*unpin)(struct runtime *rt, const char *owner);
};

struct runtime_ops {
    const char *name;
    const struct runtime_lack *lacks;    /* ended by name NULL; or NULL */
    const struct runtime_images *images; /* NULL: it runs the layers of our own store */
    const struct runtime_saves *saves;   /* NULL: what it captures is a layer of our own store */
    bool counts_inside; /* processes, memory and kills for want of it are what the agent says (guest_usage) */
    struct runtime_caps (*caps)(struct runtime *rt);
    void (*create)(struct runtime *rt, const struct box_plan *plan, box_ready_fn *fn, void *arg);
    /* Connects anew to a box that outlived its daemon. record is what save() gave. */
    void (*adopt)(struct runtime *rt, const json_t *record, box_ready_fn *fn, void *arg);
    json_t *(*save)(struct box *box); /* to be stored with the sandbox record */
    /* Why the box has no agent: then commands are run some other way, and all else is ERR_UNSUPPORTED. NULL: it has
     * one; a driver whose boxes always have one leaves this out. */
    const char *(*without_agent)(const struct box *box);
    void (*on_gone)(struct box *box, loop_fn *fn, void *arg); /* the box died by itself; at most once */
    /* The box goes on after it stood still, and its clock did not: fn tells its agent the time. NULL: a box of this
     * driver has the host's clock. */
    void (*on_late)(struct box *box, loop_fn *fn, void *arg);
    /* What a box that died by itself said last, for people. Caller frees. NULL: it has no console. */
    char *(*last_words)(struct box *box);
    void (*destroy)(struct box *box, box_done_fn *fn,
                    void *arg);      /* box is gone for the caller at once; fn may be NULL */
    void (*forget)(struct box *box); /* free the handle, leave the box running (shutdown that keeps) */
    void (*pause)(struct box *box, box_done_fn *fn, void *arg);
    void (*resume)(struct box *box, box_done_fn *fn, void *arg);
    int (*stats)(struct box *box, struct box_stats *ret, struct err *err);
    void (*set_limits)(struct box *box, uint32_t memory_mb, uint32_t cpu_milli, uint32_t pids_max, box_done_fn *fn,
                       void *arg);
    /* A pool's box gets its name. NULL: its agent is told (guest_set_hostname). */
    void (*rename)(struct box *box, const char *hostname, box_done_fn *fn, void *arg);
    /* Counts what a box without a disk of its own takes of the host's: from then on in its stats. Takes its time. NULL:
     * cannot, or always in its stats (can_measure). */
    void (*measure)(struct box *box, box_done_fn *fn, void *arg);
    void (*capture)(struct box *box, box_capture_fn *fn, void *arg);
    /* Like capture, but without a copy if nothing in the box has files open: then the box goes on above the captured
     * folder. layers: those of the box now, lowest first. NULL: only capture. */
    void (*promote)(struct box *box, const char *const *layers, size_t n_layers, box_promote_fn *fn, void *arg);
    /* After adoption: the folder of a promote that nobody took (moved away) yet; take it before anything else is
     * captured. Borrowed; NULL when there is none, or for a driver without promote. */
    const char *(*leftover)(struct box *box);
    void (*taken)(struct box *box); /* the promoted folder is where it belongs: no leftover any more */
    /* Destroys every box of this driver's data folder that no kept id names: what a killed daemon left half-made. */
    void (*sweep)(struct runtime *rt, const char *const *kept_ids, size_t n, box_done_fn *fn, void *arg);
    /* One function to be told that a helper process of the driver died and was started again: boxes go on, networks and
     * ways out have to be made anew. NULL: cannot happen. */
    void (*on_restart)(struct runtime *rt, loop_fn *fn, void *arg);
    /* Volumes. ERR_CONFLICT: something is mounted there. Unmounting what is not mounted is fine. NULL: see can_mount.
     */
    void (*mount_volume)(struct box *box, const struct box_volume *v, box_done_fn *fn, void *arg);
    void (*unmount_volume)(struct box *box, const struct box_volume *v, box_done_fn *fn, void *arg);
    void (*remove_volume)(struct runtime *rt, const char *id, box_done_fn *fn, void *arg); /* with all its files */
    /* Networks. They end with the driver: make and attach them again after a restart. NULL: see can_network. */
    /* address: of the network itself. ERR_CONFLICT: its range is taken, another will do. */
    void (*net_create)(struct runtime *rt, const struct box_plug *net, box_done_fn *fn, void *arg);
    void (*net_delete)(struct runtime *rt, const char *net_id, box_done_fn *fn, void *arg); /* cuts every member */
    void (*net_attach)(struct box *box, const struct box_plug *plug, box_done_fn *fn, void *arg);
    void (*net_detach)(struct box *box, const struct box_plug *plug, box_done_fn *fn, void *arg);
    void (*open_egress)(struct box *box, box_egress_fn *fn, void *arg); /* again after adoption. NULL: see can_egress */
    struct runtime *(*free)(struct runtime *rt);
};

struct runtime {
    const struct runtime_ops *ops;
    struct loop *loop;
};

/* ERR_UNSUPPORTED, with the driver's reason. what: "mount volumes". */
int runtime_cannot(const struct runtime *rt, const char *cap, const char *what, struct err *err);
