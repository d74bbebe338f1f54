/* The root file system of a box as every backend that builds one itself has it: what is mounted in it, what of /proc is
 * covered, which devices there are. Everything is done by descriptor; of the image no link is followed where something
 * is mounted. May include: os/mount.h, os/sysview.h.
 * Each returns 0 or -errno, with the step that failed in why. */
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

/* Notes the step that failed; returns r, or -EIO when that is no error number. */
__attribute__((format(printf, 3, 4))) int box_root_fail(struct box_root *b, int r, const char *fmt, ...);
/* A file system of its own, mounted nowhere yet. */
int box_root_detached(struct box_root *b, const char *type, const struct box_root_option *opt, uint64_t attributes,
                      int *ret);
/* Everything that needs no image: proc with its covers, devpts, shared memory, loopback up. Wants /proc to mount on and
 * /dev/null in sight. */
int box_root_prepare(struct box_root *b);
/* The folder that stands for /sys, filled from the /sys in sight, read-only. */
int box_root_sys(struct box_root *b);
/* The device nodes of a box, cloned from the /dev in sight; attached by box_root_dev once the root has its place. */
int box_root_nodes(struct box_root *b, int ret_nodes[BOX_ROOT_NODES]);
/* Mounts a folder with those nodes, and what else belongs there, on /dev of the root; attributes (MOUNT_ATTR_*) are set
 * once it is filled. */
int box_root_dev(struct box_root *b, int root, const int nodes[BOX_ROOT_NODES], uint64_t attributes);
/* Mounts on a folder of the root, which is made when missing and refused when it is a link. */
int box_root_attach(struct box_root *b, int root, const char *name, int mount);
/* The working folder (absolute) with all above it, made when missing. Our own root must be the box's already. */
int box_root_workdir(struct box_root *b, int root, const char *workdir);
/* Gives the mount of shared memory another size. */
int box_root_shm(struct box_root *b, uint32_t mb);
/* Descriptors 0 to 2 become /dev/null, core dumps are off. */
int box_root_quiet(struct box_root *b);
void box_root_done(struct box_root *b);
