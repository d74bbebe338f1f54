/* The objects of the daemon's side of the native driver. Only driver.c includes this. May include: base/, os/, loop/.
 */
#pragma once
#include "loop/helper.h"
#include "os/cgroup.h"
#include "runtime/box_life.h"
#include "runtime/native/wire.h"

struct message {
    struct message *next;
    size_t extra_len;
    struct wire_request request; /* extra bytes follow */
};

struct pending {
    struct pending *next;
    uint64_t number;
    uint32_t op;
    char id[IDENT_MAX];
    struct message *message; /* sent or in n->out; kept in case the launcher dies before it replies */
    box_ready_fn *on_ready;
    box_done_fn *on_done;
    box_capture_fn *on_capture;
    box_egress_fn *on_egress;
    box_promote_fn *on_promote;
    box_bytes_fn *on_bytes;
    void *arg;
};

struct native {
    struct runtime rt; /* first */
    unsigned magic;
    struct helper launcher;
    bool is_left;                          /* the server stops and leaves its boxes to the next one */
    bool is_dead;                          /* the launcher is gone, and the next one is started after a pause */
    struct timer *pause;                   /* of that pause */
    bool has_uid_range, is_root, can_disk; /* of the launcher */
    uint64_t last_number;
    struct pending *pending;
    struct message *out, **out_end; /* messages that the socket did not accept yet; owned by their pending */
    struct box *boxes;
    json_t *unheld;      /* ids of boxes without a handle whose files must stay, see driver.c */
    int64_t started_us;  /* start of the launcher */
    unsigned quick_ends; /* launchers in a row that exited soon */
    loop_fn *on_restart;
    void *restart_arg;
    struct keeper *own_keeper; /* starts the launcher where the server has no keeper; freed with us */
    struct cgroup_host cgroups;
    bool has_own_cgroups;
    char *data_dir;
};

struct box {
    struct box_life life; /* first */
    unsigned magic;
    struct box *next, **at; /* in n->boxes */
    struct native *n;
    char id[IDENT_MAX], name[WIRE_NAME_MAX];
    pid_t pid;
    uint64_t start_time;
    uint32_t slot;
    struct cgroup cgroup;
    bool has_cgroup, is_paused;
    char *leftover; /* of a promote before adoption, or NULL */
    int pidfd;
    int64_t measured; /* bytes of the host's disk, as last counted */
    int disk_fd;      /* the image of its private disk, only for fstat; -EBADF: it has none */
    struct watch *exit_watch;
};
