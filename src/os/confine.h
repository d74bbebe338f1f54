/* What a process of ours takes away from itself before it reads foreign bytes: identity and capabilities, system calls,
 * files. Each step is for good, and inherited. Call them before there are threads, in this order. May include: base/.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct confine_who {
    uid_t uid;
    gid_t gid;
    bool has_group; /* one group more, which opens a socket to us */
    gid_t group;
};
/* Becomes uid:gid without further groups (but that one), unless it is that already, and keeps of the capabilities only
 * those in keep (bits 1 << CAP_*): bounding, permitted, effective, inheritable and ambient sets, with the secure bits
 * locked, so that uid 0 stands for nothing either. Sets no_new_privs, and lets nobody attach (non-dumpable). */
int confine_identity(const struct confine_who *who, uint64_t keep, struct err *err);
/* Stays root, for a program that becomes another user itself and thereby loses all: without further groups, with no
 * capability but those in keep, and with no_new_privs no way to others. */
int confine_root(uint64_t keep, struct err *err);

/* The server's system call filter (filter_build_server). */
int confine_calls(struct err *err);

enum confine_may {
    CONFINE_READ,
    CONFINE_WRITE,  /* and change all below it */
    CONFINE_UNPACK, /* and make whiteouts, which are device nodes */
};

struct confine_place {
    const char *path; /* a file or folder; one that is missing is left out */
    enum confine_may may;
};
/* Landlock: nothing but these places can be opened from now on, nothing can be executed, no process outside be
 * signalled (where the kernel knows that). Returns the kernel's version of it, from 1; -EOPNOTSUPP: it has none. */
int confine_files(const struct confine_place *places, size_t n, struct err *err);
/* The same in two steps, for a process whose children all want the same: a descriptor, and what enters it. */
int confine_files_prepare(const struct confine_place *places, size_t n, struct err *err);
int confine_files_enter(int rules, struct err *err);
int confine_landlock(void); /* the version, or 0 */
