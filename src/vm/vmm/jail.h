/* The confinement of a VMM: its own user id, its own namespaces without a network, a root that holds only its
 * program's files and its own. Only the tool uses this, in a single-threaded process. May include: base/, os/, vm/. */
#pragma once
#include "os/cgroup.h"
#include "vm/tool_wire.h"
#include "vm/vmm/vmm.h"

#define VM_JAIL_UID_BASE 0x71000000u /* above the ranges of boxes, below the sign bit that confuses old tools */
#define VM_JAIL_UIDS     0x0e000000u

/* The operator's paths; "": the usual places. */
struct vm_jail_site {
    const char *firecracker, *libkrun;
    const char *jailer; /* VM_JAILER_OFF: we start Firecracker like every other VMM */
};
struct vm_jail_plan {
    const struct vm_tool_wire_request *q;
    const int *fds; /* VM_TOOL_WIRE_FDS of them; those that the VMM does not get are NO_FD */
    const struct vm_jail_site *site;
    const struct cgroup *group; /* NULL: none */
};

/* Starts the VMM as a child of our own parent. The caller closes fds_back, also on failure. */
int vm_jail_start(const struct vm_jail_plan *plan, struct vm_tool_wire_reply *ret, int fds_back[VM_TOOL_WIRE_REPLY_FDS],
                  struct err *err);
/* Whether only VMs have this user id; the id of this VM when root starts it. */
bool vm_jail_is_uid(uid_t uid);
uid_t vm_jail_uid_of(const char *name);
