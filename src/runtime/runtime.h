/* The driver vtable: makes, freezes, captures and destroys a box, and hands over a connected guest agent. Everything
 * else (exec, files, terminals, tunnels) is the agent's work. A driver's abilities are data: what it cannot do is
 * reported by name, never faked. All calls return at once; results come on the loop. May include: base/, os/, loop/. */
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
#include "os/filter.h"

struct runtime;
struct box; /* one sandbox as the driver sees it */

struct box_plan {
    char id[IDENT_MAX]; /* sandbox id; also the hostname unless hostname is set */
    char hostname[64];
    const char *const *layers; /* absolute folders, lowest first, or one of the backend's own images; borrowed */
    size_t n_layers;
    bool is_host;        /* bind the host's /usr read-only */
    const char *workdir; /* created when it is missing */
    uint32_t memory_mb, pids_max;
    uint32_t cpu_milli;       /* 1000 = one core */
    uint32_t disk_mb, inodes; /* a private disk, see can_limit_disk; both 0 = none */
    uint32_t nofile, shm_mb;  /* descriptors of one process, size of /dev/shm; 0 = the driver's default */
    enum filter_profile seccomp;
    bool has_network;   /* loopback only when false */
    const json_t *kept; /* what save() returned for a box that was halted: its files, under the same id and layers; else
                           NULL. Borrowed */
};

struct box_stats {
    uint64_t cpu_usage_us; /* since the box was created */
    uint64_t memory_bytes, memory_limit_bytes;
    uint64_t rx_bytes, tx_bytes;
    uint64_t rx_packets, tx_packets;
    uint32_t pids;
    uint64_t oom_kills;
    uint64_t disk_bytes; /* of its private disk, as used on the host; without one: as last measured, 0 = never */
};

/* What a driver can do on this host, with the names that clients and tests use. */
#define RUNTIME_CAPS(X)                                                             \
    X(can_pause, "pause")                                                           \
    X(can_capture, "snapshot")                                                      \
    X(can_limit_memory, "limitMemory")                                              \
    X(can_limit_cpu, "limitCpu")                                                    \
    X(can_limit_pids, "limitPids")                                                  \
    X(can_limit_disk, "limitDisk")  /* a private disk, and volumes with a size */   \
    X(can_limit_rate, "limitRate")  /* of a network */                              \
    X(can_network, "network")       /* connect boxes to each other */               \
    X(can_mount, "volume")          /* volumes, while the box runs */               \
    X(can_egress, "egress")         /* redirect egress to sockets of the daemon */  \
    X(can_rename, "hostname")       /* change that of a running box */              \
    X(can_measure, "diskWatch")     /* see measure() */                             \
    X(can_stop, "stop")             /* see halt() */                                \
    X(can_resize, "resize")         /* memory and processes of a running box */     \
    X(can_grow, "growDisk")         /* the private disk of a box */                 \
    X(can_hibernate, "hibernate")   /* its saves have the memory */                 \
    X(can_seccomp, "seccomp")       /* profiles of the system call filter */        \
    X(can_see_calls, "deniedCalls") /* the agent reports them: guest_on_denied() */ \
    X(has_store, "imageStore")      /* it runs images of our own store */           \
    X(has_host, "hostFiles")        /* and the host's own files */                  \
    X(has_layers, "layers")         /* a capture is a layer: only what changed */

struct runtime_caps {
#define RUNTIME_CAP(field, name) bool field;
    RUNTIME_CAPS(RUNTIME_CAP)
#undef RUNTIME_CAP
    bool has_uid_range;
};

/* Why a driver cannot do something, by the name above. */
struct runtime_lack {
    const char *name, *reason;
};

struct box_volume {
    const char *id;     /* the driver chooses its place, and makes it at the first mount */
    uint32_t size_mb;   /* of a new one, see can_limit_disk; 0: no limit of its own */
    const char *target; /* absolute, in the box */
    bool is_readonly;
};

/* One membership: how the box appears in that network. */
struct box_plug {
    const char *net_id;
    uint32_t subnet;  /* number of the network, unique on this server, below RUNTIME_SUBNETS */
    uint32_t address; /* IPv4, host order */
    uint32_t prefix;
    uint32_t kbps; /* rate in each direction, kbit/s; 0 = no limit */
};
#define RUNTIME_SUBNETS LIMIT_MAX(NETWORKS)

/* guest_fd: a connected stream to the agent, owned by the receiver. err is set when box is NULL. */
typedef void box_ready_fn(void *arg, struct box *box, int guest_fd, const struct err *err);
typedef void box_done_fn(void *arg, const struct err *err); /* err NULL: done */
typedef void box_bytes_fn(void *arg, int64_t bytes, const struct err *err);
typedef void box_overuse_fn(void *arg, const char *why);
/* Sockets inside the box's network: its outbound TCP (SO_ORIGINAL_DST gives the destination) and its DNS queries.
 * The receiver owns them. err is set when there are none. */
typedef void box_egress_fn(void *arg, int tcp_fd, int dns_fd, const struct err *err);
/* folder: a host folder with the captured writable layer, which the receiver owns (hand it to image_add_layer). */
typedef void box_capture_fn(void *arg, const char *folder, int64_t size_bytes, const struct err *err);
/* is_shared: the folder is now also a layer of the running box. It may be moved on its file system, must not be
 * changed, and must stay while the box lives. size_bytes is -1 when it was not counted. */
typedef void box_promote_fn(void *arg, const char *folder, int64_t size_bytes, bool is_shared, const struct err *err);

/* An image that the backend keeps itself. Borrowed during the callback. */
struct box_image {
    const char *id; /* what a plan names as its only layer: "BACKEND:…" */
    char **env, **entrypoint, **cmd;
    const char *user, *workdir;
    int64_t size_bytes;
};
struct box_pull;
typedef void box_image_fn(void *arg, const struct box_image *image, const struct err *err); /* image NULL: see err */
typedef void box_pull_fn(void *arg, int64_t done_bytes, int64_t total_bytes, int layers_done, int layers);
typedef void box_json_fn(void *arg, json_t *list, const struct err *err); /* the receiver owns list */

/* An image of our own store for a backend that has its own. */
struct box_archive {
    const char *name; /* from kept_name() */
    int fd;           /* read end of a pipe, taken over; its end is the archive's end only when that is complete */
    bool is_root;     /* the tar of one root file system, with this configuration; else docker-save's format */
    char **env, **cmd;
};

/* Images of a backend that has its own (an engine). */
struct runtime_images {
    void (*resolve)(struct runtime *rt, const char *name, box_image_fn *fn, void *arg); /* ERR_NOT_FOUND: not here */
    /* fn is called later, also after a cancel. */
    struct box_pull *(*pull)(struct runtime *rt, const char *name, box_pull_fn *progress, box_image_fn *fn, void *arg);
    void (*cancel)(struct box_pull *pull);
    /* The name of the backend's copy of an image of our store; key: of the content. Caller frees. */
    char *(*kept_name)(struct runtime *rt, const char *name, const char *key);
    /* Makes that copy, and removes those of earlier contents when no box uses them. Like pull. */
    struct box_pull *(*load)(struct runtime *rt, const struct box_archive *archive, box_image_fn *fn, void *arg);
    void (*list)(struct runtime *rt, box_json_fn *fn, void *arg); /* [{name,id,size,layers,createdAt,source}] */
    void (*remove)(struct runtime *rt, const char *name, box_done_fn *fn, void *arg);
};

/* Captures that the backend keeps: an engine's commits, VMs saved with their memory. */
struct runtime_saves {
    /* Saves the box as an image, pinned for owner; the box continues. */
    void (*commit)(struct box *box, const char *owner, box_image_fn *fn, void *arg);
    /* A committed image is removed with its last pin. Pins are not stored: every holder pins again after a restart,
     * before sweep(). A later pin of an owner replaces the earlier one. */
    void (*pin)(struct runtime *rt, const char *id, const char *owner);
    void (*unpin)(struct runtime *rt, const char *owner);
};

struct runtime_ops {
    const char *name;
    const struct runtime_lack *lacks;    /* terminated by name NULL; or NULL */
    const struct runtime_images *images; /* NULL: it runs the layers of our own store */
    const struct runtime_saves *saves;   /* NULL: a capture is a layer of our own store */
    bool counts_inside;                  /* the agent reports processes, memory and OOM kills (guest_usage) */
    struct runtime_caps (*caps)(struct runtime *rt);
    void (*create)(struct runtime *rt, const struct box_plan *plan, box_ready_fn *fn, void *arg);
    /* Reconnects to a box that outlived its daemon. record is what save() returned. The box is made to be paused, or to
     * run, as is_paused says: a crash in the middle of a pause, resume or capture may have left it otherwise. */
    void (*adopt)(struct runtime *rt, const json_t *record, bool is_paused, box_ready_fn *fn, void *arg);
    json_t *(*save)(struct box *box); /* to be stored with the sandbox record */
    /* Why the box has no agent: then commands run some other way, and all else is ERR_UNSUPPORTED. NULL: it has one;
     * drivers whose boxes always have one leave this out. */
    const char *(*without_agent)(const struct box *box);
    void (*on_gone)(struct box *box, loop_fn *fn, void *arg); /* the box died unexpectedly; at most once */
    /* The box continues after it was paused, and its clock did not run: fn tells its agent the time. NULL: boxes of
     * this driver have the host's clock. */
    void (*on_late)(struct box *box, loop_fn *fn, void *arg);
    /* The box takes so much of what the host's kernel counts for all together that fn must end it. NULL: cannot
     * happen. */
    void (*on_overuse)(struct box *box, box_overuse_fn *fn, void *arg);
    /* The last console lines of a box that died, for an error message. Caller frees. NULL: it has no console. */
    char *(*console_text)(struct box *box);
    void (*destroy)(struct box *box, box_done_fn *fn, void *arg); /* the handle is invalid at once; fn may be NULL */
    /* Ends the box's processes and keeps its files, for a create with them (plan.kept) or discard(). The handle is
     * invalid at once. err: the files are kept, but something of it may still run; retain() tries again. NULL: see
     * can_stop, and so for the next two. */
    void (*halt)(struct box *box, box_done_fn *fn, void *arg);
    /* The same for a box that adopt() could not reconnect to. record: what save() returned. ERR_NOT_FOUND: its files
     * are gone. */
    void (*retain)(struct runtime *rt, const json_t *record, box_done_fn *fn, void *arg);
    /* Removes the files of a halted box. fn may be NULL. */
    void (*discard)(struct runtime *rt, const json_t *record, box_done_fn *fn, void *arg);
    void (*forget)(struct box *box); /* frees the handle and leaves the box running (a shutdown that keeps boxes) */
    void (*pause)(struct box *box, box_done_fn *fn, void *arg);
    void (*resume)(struct box *box, box_done_fn *fn, void *arg);
    int (*stats)(struct box *box, struct box_stats *ret, struct err *err);
    /* ERR_CONFLICT: it uses more memory than that, and nothing has changed; nothing is killed for it. */
    void (*set_limits)(struct box *box, uint32_t memory_mb, uint32_t cpu_milli, uint32_t pids_max, box_done_fn *fn,
                       void *arg);
    /* Grows the private disk of a running box. One that has that size already is fine. A halted box gets the disk of
     * its next plan. NULL: see can_grow. */
    void (*grow_disk)(struct box *box, uint32_t disk_mb, uint32_t inodes, box_done_fn *fn, void *arg);
    /* Gives a box of the pool its hostname. NULL: the agent does it (guest_set_hostname). */
    void (*rename)(struct box *box, const char *hostname, box_done_fn *fn, void *arg);
    /* Counts the disk space that a box without a private disk uses; its stats have the result from then on. Slow.
     * NULL: not supported, or always in its stats (can_measure). */
    void (*measure)(struct box *box, box_done_fn *fn, void *arg);
    void (*capture)(struct box *box, box_capture_fn *fn, void *arg);
    /* Like capture, but without a copy if no process in the box has files open: then the box continues above the
     * captured folder. layers: the present ones, lowest first. NULL: only capture. */
    void (*promote)(struct box *box, const char *const *layers, size_t n_layers, box_promote_fn *fn, void *arg);
    /* After adoption: the folder of a promote that nobody has moved away yet; take it before the next capture.
     * Borrowed; NULL when there is none, or for a driver without promote. */
    const char *(*leftover)(struct box *box);
    void (*taken)(struct box *box); /* the promoted folder has been moved: it is not a leftover any more */
    /* Destroys every box in this driver's data folder that no kept id names: what a killed daemon left unfinished. Of a
     * kept one that has no handle only the files stay: it was halted. */
    void (*sweep)(struct runtime *rt, const char *const *kept_ids, size_t n, box_done_fn *fn, void *arg);
    /* Calls fn when a helper process of the driver died and was restarted: boxes continue, but networks and egress
     * redirections must be made again. NULL: cannot happen. */
    void (*on_restart)(struct runtime *rt, loop_fn *fn, void *arg);
    /* Volumes. ERR_CONFLICT: something is mounted there. Unmounting a volume that is not mounted is fine. NULL: see
     * can_mount. */
    void (*mount_volume)(struct box *box, const struct box_volume *v, box_done_fn *fn, void *arg);
    void (*unmount_volume)(struct box *box, const struct box_volume *v, box_done_fn *fn, void *arg);
    void (*remove_volume)(struct runtime *rt, const char *id, box_done_fn *fn, void *arg); /* with all its files */
    /* What a volume uses of the host's disk; 0: it was never mounted. NULL: it has no volumes. */
    void (*measure_volume)(struct runtime *rt, const char *id, box_bytes_fn *fn, void *arg);
    /* Networks. They end with the driver: make and attach them again after a restart. NULL: see can_network. */
    /* address: of the network itself. ERR_CONFLICT: its range is in use, try another. */
    void (*net_create)(struct runtime *rt, const struct box_plug *net, box_done_fn *fn, void *arg);
    void (*net_delete)(struct runtime *rt, const char *net_id, box_done_fn *fn,
                       void *arg); /* disconnects every member */
    void (*net_attach)(struct box *box, const struct box_plug *plug, box_done_fn *fn, void *arg);
    void (*net_detach)(struct box *box, const struct box_plug *plug, box_done_fn *fn, void *arg);
    void (*open_egress)(struct box *box, box_egress_fn *fn,
                        void *arg); /* repeat it after adoption. NULL: see can_egress */
    /* The server stops: creates that would take minutes fail soon. NULL: none does. */
    void (*stop)(struct runtime *rt);
    struct runtime *(*free)(struct runtime *rt);
};

struct runtime {
    const struct runtime_ops *ops;
    struct loop *loop;
};

/* Why the driver never can do this, on any host; NULL: it can on some. */
const char *runtime_lack(const struct runtime *rt, const char *cap);
/* ERR_UNSUPPORTED, with the driver's reason. what: "mount volumes". */
int runtime_cannot(const struct runtime *rt, const char *cap, const char *what, struct err *err);
/* The error about the mount point of a volume, with the same text for every driver. r: what mount_walk() returned
 * (os/mount.h). */
int runtime_place_error(int r, const char *target, struct err *err);
