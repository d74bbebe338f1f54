/* The root file system of a box, for every backend that builds one: its mounts, the covered parts of /proc, its
 * devices. Everything is done by descriptor; no link of the image is followed where something is mounted. May
 * include: os/mount.h, os/sysview.h. Each function returns 0 or -errno, with the failed step in why. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#define BOX_ROOT_NONE  (-9) /* -EBADF: no descriptor */
#define BOX_ROOT_NODES 6    /* device nodes of a box */

struct box_root {
    int proc, pts, shm, sys; /* detached mounts; -EBADF: not made */
    uint32_t shm_mb;         /* size of shm */
    char why[200];
};

struct box_root_option {
    const char *key, *value; /* value NULL: a flag */
};

#define BOX_ROOT_INIT                                                                           \
    {                                                                                           \
        .proc = BOX_ROOT_NONE, .pts = BOX_ROOT_NONE, .shm = BOX_ROOT_NONE, .sys = BOX_ROOT_NONE \
    }

/* Records the failed step; returns r, or -EIO when that is not a negative error number. */
__attribute__((format(printf, 3, 4))) int box_root_fail(struct box_root *b, int r, const char *fmt, ...);
/* Makes a file system that is mounted nowhere yet. */
int box_root_detached(struct box_root *b, const char *type, const struct box_root_option *opt, uint64_t attributes,
                      int *ret);
/* Everything that needs no image: proc with its covers, devpts with this many terminals, shared memory, loopback up.
 * Needs /proc to mount on and /dev/null in sight. */
int box_root_prepare(struct box_root *b, int ptys);
/* The folder that replaces /sys, filled from the /sys in sight, read-only. */
int box_root_sys(struct box_root *b);
/* Clones the device nodes of a box from the /dev in sight; box_root_dev() attaches them once the root has its place. */
int box_root_nodes(struct box_root *b, int ret_nodes[BOX_ROOT_NODES]);
/* Mounts a folder with those nodes and the usual links on /dev of the root, read-only: its memory would count for
 * nobody. */
int box_root_dev(struct box_root *b, int root, const int nodes[BOX_ROOT_NODES]);
/* Mounts on a folder of the root, which is made when it is missing and rejected when it is a link. */
int box_root_attach(struct box_root *b, int root, const char *name, int mount);
/* Makes the working folder (absolute) and its parents when they are missing. Our root must already be the box's. */
int box_root_workdir(struct box_root *b, int root, const char *workdir);
/* Gives the mount of shared memory another size. */
int box_root_shm(struct box_root *b, uint32_t mb);
/* Opens /dev/null as descriptors 0 to 2 and disables core dumps, also those that a program of the host takes through a
 * pipe. */
int box_root_quiet(struct box_root *b);
void box_root_done(struct box_root *b);
