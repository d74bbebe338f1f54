/* The place a virtual machine monitor runs in: a user id of its own, namespaces of its own with no network in them, a
 * root that holds its program's files and its own, nothing else. Only the tool uses this, in a process of one thread.
 * May include: base/, os/, vm/. */
#pragma once
#include "os/cgroup.h"
#include "vm/tool_wire.h"
#include "vm/vmm/vmm.h"

#define VM_JAIL_UID_BASE 0x71000000u /* above the ranges of boxes; below the sign bit that old tools trip over */
#define VM_JAIL_UIDS     0x0e000000u

/* Where the operator has them; "": where they usually are. */
struct vm_jail_site {
    const char *firecracker, *libkrun;
    const char *jailer; /* VM_JAILER_OFF: Firecracker is started by us, like every monitor */
};
struct vm_jail_plan {
    const struct vm_tool_wire_request *q;
    const int *fds; /* VM_TOOL_WIRE_FDS of them; those that the monitor does not get are NO_FD */
    const struct vm_jail_site *site;
    const struct cgroup *group; /* NULL: none */
};

/* Starts the monitor as a child of our own parent. fds_back: the caller's, also when it fails. */
int vm_jail_start(const struct vm_jail_plan *plan, struct vm_tool_wire_reply *ret, int fds_back[VM_TOOL_WIRE_REPLY_FDS],
                  struct err *err);
/* A user id that only machines have; that of this one, when root starts it. */
bool vm_jail_is_uid(uid_t uid);
uid_t vm_jail_uid_of(const char *name);
