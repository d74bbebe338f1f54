/* What one of our processes drops before it parses untrusted input: identity and capabilities, system calls, files.
 * Each step is permanent and inherited. Call them before there are threads, in this order. May include: base/. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct confine_who {
    uid_t uid;
    gid_t gid;
    bool has_group; /* one supplementary group, which may connect to our socket */
    gid_t group;
};
/* Becomes uid:gid without supplementary groups (except that one), unless it already is, and keeps only the
 * capabilities in keep (bits 1 << CAP_*): bounding, permitted, effective, inheritable and ambient sets, with the
 * secure bits locked, so that uid 0 has no meaning either. Sets no_new_privs, and denies ptrace (non-dumpable). */
int confine_identity(const struct confine_who *who, uint64_t keep, struct err *err);
/* Stays root, for a program that changes to another user itself and thereby loses all capabilities: without
 * supplementary groups, with only the capabilities in keep, and with no_new_privs. */
int confine_root(uint64_t keep, struct err *err);

/* The server's system call filter (filter_build_server). */
int confine_calls(struct err *err);

enum confine_may {
    CONFINE_READ,
    CONFINE_WRITE,  /* and change everything below it */
    CONFINE_UNPACK, /* and make whiteouts, which are device nodes */
};

struct confine_place {
    const char *path; /* a file or folder; a missing one is skipped */
    enum confine_may may;
};
/* Landlock: from now on only these places can be opened, nothing can be executed, and no process outside can be
 * signalled (where the kernel supports that). Returns the Landlock version, from 1; -EOPNOTSUPP: none. */
int confine_files(const struct confine_place *places, size_t n, struct err *err);
/* The same in two steps, for a process whose children all need the same rules: makes a ruleset descriptor, and
 * enters it. */
int confine_files_prepare(const struct confine_place *places, size_t n, struct err *err);
int confine_files_enter(int rules, struct err *err);
int confine_landlock(void); /* the version, or 0 */
