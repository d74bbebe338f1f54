/* What is behind the interfaces of a machine: one tap each in the network namespace of its monitor, from where a cable
 * leads to a network, or its connections to sockets of the daemon. Only the tool uses this, in a process of one thread.
 * May include: base/, os/, runtime/. */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "runtime/egress_redirect.h"
#include "vm/tool_wire.h"

_Static_assert((int)EGRESS_REDIRECT_FDS == (int)VM_TOOL_WIRE_REPLY_FDS, "a reply brings both egress sockets");

#define VM_TAP_FOLDER "/dev/net"
#define VM_TAP_DEVICE VM_TAP_FOLDER "/tun"

/* In the monitor's namespace, before its privileges go. The descriptor is the tap: it goes with the last of them. */
int vm_tap_open(unsigned nic);
/* For a monitor that opens it itself, by its name and as that user: it goes with the namespace. */
int vm_tap_keep(unsigned nic, uid_t owner);
/* Where such a monitor finds the device: a file system with one node, that user's alone, to be hung at VM_TAP_FOLDER.
 * The host's own is often root's. */
int vm_tap_device(uid_t owner);

/* A machine that runs: its monitor. */
struct vm_tap_instance {
    int pidfd;
    pid_t pid;
    bool is_root; /* we are; else its user namespace is the one that gives rights */
};

/* q: a JOIN or LEAVE. What an earlier network left on that interface is replaced; not a member is fine. */
int vm_tap_join(const struct vm_tap_instance *m, const struct vm_tool_wire_request *q, int switch_ns, struct err *err);
int vm_tap_leave(const struct vm_tap_instance *m, const struct vm_tool_wire_request *q, struct err *err);
/* Done again it replaces the former way. */
int vm_tap_egress_redirect(const struct vm_tap_instance *m, int ret_fds[EGRESS_REDIRECT_FDS], struct err *err);
