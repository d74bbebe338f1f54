/* The root file system of a box as every backend that builds one itself has it: what is mounted in it, what of /proc is
 * covered, which devices there are. Everything is done by descriptor; of the image no link is followed where something
 * is mounted. May include: os/mount.h, os/sysview.h.
 * Each returns 0 or -errno, with the step that failed in why. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#define BOXROOT_NONE  (-9) /* -EBADF: no descriptor */
#define BOXROOT_NODES 6    /* device nodes of a box */

struct boxroot {
    int proc, pts, shm, sys; /* detached mounts; -EBADF: not made */
    uint32_t shm_mb;         /* size of shm */
    char why[200];
};

struct boxroot_option {
    const char *key, *value; /* value NULL: a flag */
};

#define BOXROOT_INIT                                                                        \
    {                                                                                       \
        .proc = BOXROOT_NONE, .pts = BOXROOT_NONE, .shm = BOXROOT_NONE, .sys = BOXROOT_NONE \
    }

/* Notes the step that failed; returns r, or -EIO when that is no error number. */
__attribute__((format(printf, 3, 4))) int boxroot_fail(struct boxroot *b, int r, const char *fmt, ...);
/* A file system of its own, mounted nowhere yet. */
int boxroot_detached(struct boxroot *b, const char *type, const struct boxroot_option *opt, uint64_t attributes,
                     int *ret);
/* Everything that needs no image: proc with its covers, devpts, shared memory, loopback up. Wants /proc to mount on and
 * /dev/null in sight. */
int boxroot_prepare(struct boxroot *b);
/* The folder that stands for /sys, filled from the /sys in sight, read-only. */
int boxroot_sys(struct boxroot *b);
/* The device nodes of a box, cloned from the /dev in sight; attached by boxroot_dev once the root has its place. */
int boxroot_nodes(struct boxroot *b, int ret_nodes[BOXROOT_NODES]);
/* Mounts a folder with those nodes, and what else belongs there, on /dev of the root; attributes (MOUNT_ATTR_*) are set
 * once it is filled. */
int boxroot_dev(struct boxroot *b, int root, const int nodes[BOXROOT_NODES], uint64_t attributes);
/* Mounts on a folder of the root, which is made when missing and refused when it is a link. */
int boxroot_attach(struct boxroot *b, int root, const char *name, int mount);
/* The working folder (absolute) with all above it, made when missing. Our own root must be the box's already. */
int boxroot_workdir(struct boxroot *b, int root, const char *workdir);
/* Gives the mount of shared memory another size. */
int boxroot_shm(struct boxroot *b, uint32_t mb);
/* Descriptors 0 to 2 become /dev/null, core dumps are off. */
int boxroot_quiet(struct boxroot *b);
void boxroot_done(struct boxroot *b);
