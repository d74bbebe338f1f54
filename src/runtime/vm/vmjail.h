/* The place a virtual machine monitor runs in: a user id of its own, namespaces of its own with no network in them, a
 * root that holds its program's files and its own, nothing else. Only the tool uses this, in a process of one thread.
 * May include: base/, os/, runtime/vm/. */
#pragma once
#include "os/cgroup.h"
#include "runtime/vm/vmm.h"
#include "runtime/vm/vmwire.h"

#define VMJAIL_UID_BASE 0x71000000u /* above the ranges of boxes; below the sign bit that old tools trip over */
#define VMJAIL_UIDS     0x0e000000u

/* Where the operator has them; "": where they usually are. */
struct vmjail_site {
    const char *firecracker, *libkrun;
    const char *jailer; /* VMJAILER_OFF: Firecracker is started by us, like every monitor */
};
struct vmjail_plan {
    const struct vmwire_request *q;
    const int *fds; /* VMWIRE_FDS of them; those that the monitor does not get are NO_FD */
    const struct vmjail_site *site;
    const struct cgroup *group; /* NULL: none */
};

/* Starts the monitor as a child of our own parent. fds_back: the caller's, also when it fails. */
int vmjail_start(const struct vmjail_plan *plan, struct vmwire_reply *ret, int fds_back[VMWIRE_REPLY_FDS],
                 struct err *err);
/* A user id that only machines have; that of this one, when root starts it. */
bool vmjail_is_uid(uid_t uid);
uid_t vmjail_uid_of(const char *name);
