/* What is behind the interfaces of a VM: one TAP device each in the network namespace of its VMM, connected by a
 * veth pair to a network, or redirected to sockets of the daemon. Only the tool uses this, in a single-threaded
 * process. May include: base/, os/, runtime/. */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "runtime/egress_redirect.h"
#include "vm/tool_wire.h"

_Static_assert((int)EGRESS_REDIRECT_FDS == (int)VM_TOOL_WIRE_REPLY_FDS, "a reply brings both egress sockets");

#define VM_TAP_FOLDER "/dev/net"
#define VM_TAP_DEVICE VM_TAP_FOLDER "/tun"

/* Opens the TAP in the VMM's namespace, before privileges are dropped. The device lives as long as its descriptors. */
int vm_tap_open(unsigned nic);
/* For a VMM that opens it by name as that user: the device lives as long as the namespace. */
int vm_tap_keep(unsigned nic, uid_t owner);
/* The device node for such a VMM: a file system with one node that only that user can open, to be mounted at
 * VM_TAP_FOLDER. The host's own node is often accessible to root only. */
int vm_tap_device(uid_t owner);

/* A running VM, by its VMM process. */
struct vm_tap_instance {
    int pidfd;
    pid_t pid;
    bool is_root; /* whether we are root; else its user namespace gives us the rights */
};

/* q: a JOIN or LEAVE. Replaces what an earlier network left on that interface; leaving a network it is not in is
 * fine. */
int vm_tap_join(const struct vm_tap_instance *m, const struct vm_tool_wire_request *q, int bridge_ns, struct err *err);
int vm_tap_leave(const struct vm_tap_instance *m, const struct vm_tool_wire_request *q, struct err *err);
/* Repeated, it replaces the former redirection. */
int vm_tap_egress_redirect(const struct vm_tap_instance *m, int ret_fds[EGRESS_REDIRECT_FDS], struct err *err);
