/* A box as the launcher sees it, from prepared to gone. Only the launcher process uses this. May include: base/,
 * os/. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "os/cgroup.h"
#include "os/filter.h"
#include "os/idrange.h"
#include "runtime/native/call_watch.h"
#include "runtime/native/counters.h"
#include "runtime/native/wire.h"

enum native_box_state {
    NATIVE_BOX_PREPARED,   /* namespaces made; the stage waits for a plan */
    NATIVE_BOX_FURNISHING, /* its disk is being made; c->waiting is the create */
    NATIVE_BOX_STARTING,   /* plan sent, no report yet */
    NATIVE_BOX_RUNNING,
    NATIVE_BOX_DYING, /* killed; its cgroup and folder are removed after its exit */
};

/* Shared by all boxes of one launcher. */
struct native_box_site {
    int boxes_fd, run_fd;
    int dev_fd;                      /* root: the prepared device folder; else the host's /dev */
    int sys_fd;                      /* root: the prepared folder for /sys */
    int agent_fd;                    /* sealed memfd of the agent program */
    int filter_fds[FILTER_PROFILES]; /* sealed memfds of the syscall filters */
    struct filter filters[FILTER_PROFILES];
    struct call_watch calls;
    int usr_fd; /* the host's /usr */
    bool is_root;
    bool is_overlay_by_name; /* root: this kernel takes overlay layers only by name (before 6.15) */
    int image_fd;            /* all layers are beneath it */
    char data_dir[4096], image_dir[4096];
    char layers_dir[256]; /* folder of the last create's layers below image_dir: mounted ahead for the next prepared box
                           */
    bool wants_usr;       /* the last create used the host's files: /usr is mounted ahead as well */
    struct cgroup_host cgroups;
    struct native_counters counters;
    char tag[20];                          /* of the data folder: prefix of every cgroup name */
    uint32_t next_slot;                    /* where to look for a free id range */
    uint8_t slots[IDRANGE_POOL_SLOTS / 8]; /* bit set: a living box uses it */
    struct idrange own;                    /* not root: what this user may map */
};

/* A folder of layers, mounted for one box. It must stay open until the overlay is made. */
#define NATIVE_BOX_TREES 8
struct native_box_tree {
    int fd;
    char dir[256]; /* below image_dir */
};

/* CPU usage of a box: cpu_priority.h. */
struct native_box_share {
    uint64_t used_us;
    int64_t looked_us, quiet_since_us; /* 0: never */
    unsigned milli;                    /* thousandths of one CPU, recently */
    bool is_heavy;
};

struct native_box {
    struct native_box *next;
    struct native_box_site *site;
    enum native_box_state state;
    char name[WIRE_NAME_MAX], id[IDENT_MAX];
    pid_t pid;
    uint64_t start_time;
    uint32_t slot;
    bool has_slot;
    struct cgroup cgroup;
    bool has_cgroup;
    bool is_paused, is_ended;
    struct native_box_share share;
    bool has_disk;   /* disk.h: the upper folder is on the disk, not in the box's folder */
    bool is_kept;    /* kept.h: its folder stays when it has ended */
    bool is_halting; /* DYING: a halt waits for its end */
    int pidfd;
    enum filter_profile seccomp;
    uint64_t number; /* STARTING, or halting: the number of the request to answer */
    /* Only while furnishing: */
    int maker; /* socket of the child that makes its disk */
    pid_t maker_pid;
    struct wire_request *waiting; /* with its extra bytes */
    /* Only while prepared and starting: */
    int control;          /* to the stage */
    int conn, stage_conn; /* the first link: the daemon's end, the agent's end */
    int listen;
    int userns; /* root only */
    int box;    /* its folder, boxes/NAME */
    int upper;  /* root: idmapped mount of the same, or of its disk */
    struct native_box_tree
        trees[NATIVE_BOX_TREES]; /* root: idmapped mounts of folders with layers; the first one made ahead */
    unsigned n_trees;
    int dev, sys, usr; /* root: idmapped mounts, made ahead */
};

/* box.c */
/* A sealed memory file with these bytes: descriptor or -errno. */
int native_box_memory_file(const char *name, const void *data, size_t len, bool is_program);
/* On failure *ret is what was made so far; kill it like any other box. */
int native_box_new_prepared(struct native_box_site *site, struct native_box **ret, struct err *err);
struct native_box *native_box_free(struct native_box *c); /* closes descriptors; touches neither process nor files */
/* Sends the plan to the stage. The report comes on c->control. */
int native_box_start(struct native_box_site *site, struct native_box *c, const struct wire_request *q, struct err *err);
void native_box_close_start(struct native_box *c); /* closes what only the start needed */
void native_box_kill(struct native_box *c);
/* True when the process has ended (and is reaped if it is our child) and the cgroup is removed. */
bool native_box_is_over(struct native_box *c);
/* Connects to the agent of a box that another launcher made. */
int native_box_adopt(struct native_box_site *site, const struct wire_request *q, struct native_box **ret,
                     struct err *err);

/* Before the first prepared box is made: reserves the ids of a box of an earlier launcher until it is gone. */
void native_box_reserve(struct native_box_site *site, const char *name);
/* A box without a record, by its folder or cgroup: to be killed. */
struct native_box *native_box_orphan(struct native_box_site *site, const char *name);

/* For visits (runtime/visit.h), in the child: joins the box's namespaces (CLONE_NEW*). Without root, its user
 * namespace first, which gives the rights. */
int native_box_visit_join(const struct native_box *c, int namespaces, struct err *err);
/* A namespace ("user", "net") of a living box: descriptor, or -errno. */
int native_box_visit_open(const struct native_box *c, const char *kind, struct err *err);

/* box_root.c: the root file system of a box. */
int native_box_root_prepare(struct native_box_site *site, struct native_box *c,
                            struct err *err); /* for a prepared box: folders, fixed mounts */
/* Root only, instead of the prepared folders: puts the upper layer on this disk (disk.h). Takes the mount. */
int native_box_root_use_disk(struct native_box *c, const struct wire_request *q, int disk, struct err *err);
int native_box_root_mount(struct native_box_site *site, struct native_box *c, const struct wire_request *q, int *ret,
                          struct err *err);
/* Writes down pid, start time and id range of c in a box's folder, in the place of those of an earlier process. */
int native_box_root_note(const struct native_box *c, int folder, struct err *err);
/* Folders of boxes/NAME that an overlay is made of. former: the previous writable layer, now the topmost read-only
 * one. */
struct native_box_root_upper {
    const char *upper, *work, *former;
};
/* Root only: makes the detached overlay of a request's layers. c->userns, c->box and c->upper must be open. */
int native_box_root_overlay(struct native_box_site *site, struct native_box *c, const struct wire_request *q,
                            const struct native_box_root_upper *u, int *ret, struct err *err);
/* Root only: reopens c->box and c->upper of a running box; native_box_close_start() closes them. c->userns must be
 * open. */
int native_box_root_reopen(struct native_box_site *site, struct native_box *c, struct err *err);
int native_box_root_shared(struct native_box_site *site, struct err *err); /* fills site->dev_fd and sys_fd */
/* usr_view.c: the host's /usr for the box, in c->usr. */
int native_box_root_usr(struct native_box_site *site, struct native_box *c, struct err *err);
/* Next string of a request's extra bytes; NULL at the end. *at starts at 0. */
const char *native_box_root_next(const struct wire_request *q, uint32_t *at);
