/* What is behind the interfaces of a machine: one tap each in the network namespace of its monitor, from where a cable
 * leads to a network, or its connections to sockets of the daemon. Only the tool uses this, in a process of one thread.
 * May include: base/, os/, runtime/. */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "runtime/outlet.h"
#include "runtime/vm/vmwire.h"

_Static_assert((int)OUTLET_FDS == (int)VMWIRE_REPLY_FDS, "a reply brings both sockets of a way out");

#define VMTAP_FOLDER "/dev/net"
#define VMTAP_DEVICE VMTAP_FOLDER "/tun"

/* In the monitor's namespace, before its privileges go. The descriptor is the tap: it goes with the last of them. */
int vmtap_open(unsigned nic);
/* For a monitor that opens it itself, by its name and as that user: it goes with the namespace. */
int vmtap_keep(unsigned nic, uid_t owner);
/* Where such a monitor finds the device: a file system with one node, that user's alone, to be hung at VMTAP_FOLDER.
 * The host's own is often root's. */
int vmtap_device(uid_t owner);

/* A machine that runs: its monitor. */
struct vmtap_machine {
    int pidfd;
    pid_t pid;
    bool is_root; /* we are; else its user namespace is the one that gives rights */
};

/* q: a JOIN or LEAVE. What an earlier network left on that interface is replaced; not a member is fine. */
int vmtap_join(const struct vmtap_machine *m, const struct vmwire_request *q, int switch_ns, struct err *err);
int vmtap_leave(const struct vmtap_machine *m, const struct vmwire_request *q, struct err *err);
/* Done again it replaces the former way. */
int vmtap_outlet(const struct vmtap_machine *m, int ret_fds[OUTLET_FDS], struct err *err);
