/* The protocol of `iii --vm-tool`: one request of fixed size with descriptors on a SEQPACKET socket, one reply, then
 * the process exits. The tool has root and trusts nothing: vm_tool_wire_check() checks every field, and a VM gets
 * only the descriptors of the request, never a name. May include: base/. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/limits.h"

#define VM_TOOL_WIRE_VERSION     1u
#define VM_TOOL_WIRE_NAME_MAX    20 /* 16 hex digits and NUL */
#define VM_TOOL_WIRE_EXTRA_MAX   65536u
#define VM_TOOL_WIRE_LAYERS_MAX  LIMIT_MAX(LAYERS) /* the limit of one overlay */
#define VM_TOOL_WIRE_MEMORY_MIN  LIMIT_MIN(MEMORY_MB)
#define VM_TOOL_WIRE_MEMORY_MAX  1048576u
#define VM_TOOL_WIRE_CPUS_MAX    64u
#define VM_TOOL_WIRE_DISK_MB     LIMIT_MAX(DISK_MB)
#define VM_TOOL_WIRE_MILLI_MAX   4096000u /* of a CPU limit */
#define VM_TOOL_WIRE_OVERHEAD_MB 512u /* of a VMM besides its guest's memory: translated code, buffers, page tables */
#define VM_TOOL_WIRE_RUN         "vm/run" /* below the data folder: the sockets and folders of VMs */
#define VM_TOOL_WIRE_BOX_SUFFIX  ".box"
/* Every VM has all its interfaces from boot, because none can be added later: the first is for egress, each other
 * one for one network. */
#define VM_TOOL_WIRE_NIC_OUT 0u
#define VM_TOOL_WIRE_NICS    5u
#define VM_TOOL_WIRE_TAP \
    "tap" /* followed by the number: the TAP device behind an interface, in the VMM's network namespace */
#define VM_TOOL_WIRE_TAP_OUT VM_TOOL_WIRE_TAP "0"

enum vm_tool_wire_op {
    VM_TOOL_WIRE_START = 1, /* starts a VM; the reply has its pid and carries a pidfd */
    VM_TOOL_WIRE_KILL,      /* and waits until no process of it is left */
    VM_TOOL_WIRE_LIMIT,     /* changes cpu_milli of a running VM */
    VM_TOOL_WIRE_FREEZE,    /* for VMMs that cannot pause their guest themselves */
    VM_TOOL_WIRE_THAW,
    VM_TOOL_WIRE_BASE,  /* writes the layers of `extra` as one read-only file system into VM_TOOL_WIRE_FD_OUT; flags:
                         * VM_TOOL_WIRE_HOST_USR or 0 */
    VM_TOOL_WIRE_PROBE, /* finds out whether KVM works; the result is in the kit (probe.h) */
    VM_TOOL_WIRE_DISK,  /* makes an empty file system of disk_mb in VM_TOOL_WIRE_FD_OUT; flags: VM_TOOL_WIRE_VOLUME or 0
                         */
    VM_TOOL_WIRE_BRIDGE, /* makes a network; the reply carries its namespace, which lives as long as the descriptor */
    VM_TOOL_WIRE_JOIN,   /* connects the interface `nic` of a VM to the network in VM_TOOL_WIRE_FD_OUT */
    VM_TOOL_WIRE_LEAVE,
    VM_TOOL_WIRE_EGRESS_REDIRECT, /* redirects its egress; the reply carries the sockets of runtime/egress_redirect.h */
};

enum vm_tool_wire_vmm { VM_TOOL_WIRE_QEMU, VM_TOOL_WIRE_FIRECRACKER, VM_TOOL_WIRE_KRUN, VM_TOOL_WIRE_VMMS };

/* Descriptors of a START, in this order, as far as the VMM uses them (vm_tool_wire_fds); BASE and DISK have one, the
 * file to fill. */
enum vm_tool_wire_fd {
    VM_TOOL_WIRE_FD_AGENT,   /* listening unix sockets: the agent's stream, */
    VM_TOOL_WIRE_FD_CONTROL, /* the VMM's control, */
    VM_TOOL_WIRE_FD_CONSOLE, /* the guest's console, */
    VM_TOOL_WIRE_FD_NOTES,   /* requests to its init process while a link is served (os/vm_handshake.h) */
    VM_TOOL_WIRE_FD_KERNEL,
    VM_TOOL_WIRE_FD_INITRAMFS,
    VM_TOOL_WIRE_FD_BASE, /* read-only drive */
    VM_TOOL_WIRE_FD_DISK, /* writable drive */
    VM_TOOL_WIRE_FD_RAM,  /* the guest's memory as a file */
    VM_TOOL_WIRE_FD_BOX,  /* a folder, for VMMs that make their sockets themselves */
    VM_TOOL_WIRE_FDS,
};
#define VM_TOOL_WIRE_FD_OUT 0
/* The descriptors that this VMM gets: the first one and their number. */
enum vm_tool_wire_fd vm_tool_wire_fds(uint32_t vmm, size_t *ret_n);

/* Descriptors of the reply to START; other replies use the same places. */
enum vm_tool_wire_reply_fd {
    VM_TOOL_WIRE_REPLY_PIDFD,
    VM_TOOL_WIRE_REPLY_ERRORS, /* read end of a pipe: the VMM's standard error */
    VM_TOOL_WIRE_REPLY_FDS,
};

enum {
    VM_TOOL_WIRE_KVM = 1,        /* hardware virtualization, else emulation */
    VM_TOOL_WIRE_INCOMING = 2,   /* waits for the state of a saved VM instead of booting */
    VM_TOOL_WIRE_SHARED_RAM = 4, /* writes go to the memory's file; else they are private to the VM (copy on write) */
    VM_TOOL_WIRE_VOLUME = 8,     /* of a DISK: it outlives VMs */
    VM_TOOL_WIRE_TAPS = 16,      /* TAP devices are behind its interfaces; else the interfaces lead nowhere */
    VM_TOOL_WIRE_HOST_USR = 32,  /* of a BASE: with the host's /usr (os/host_usr.h) */
};

struct vm_tool_wire_request {
    uint32_t version, op;
    char name[VM_TOOL_WIRE_NAME_MAX]; /* of the VM and of its control group */
    uint32_t vmm, flags;
    uint32_t memory_mb, cpus;
    uint32_t cpu_milli; /* 0 = no limit */
    uint32_t disk_mb;
    int32_t pid; /* for networks, and for a kill where the VM has no control group */
    uint64_t start_time;
    uint32_t nic, subnet, address, net_kbps; /* of a membership, as in struct box_plug */
    uint32_t n_layers, extra_len;            /* NUL-terminated names below the image folder, lowest first */
};

struct vm_tool_wire_reply {
    uint32_t version;
    int32_t result; /* 0 or -errno */
    int32_t pid;
    uint32_t code; /* enum err_code */
    uint64_t start_time;
    char text[400]; /* of struct err */
};

/* The name of a VM's control group, which includes a hash of the data folder. ret: CGROUP_NAME_MAX bytes. */
int vm_tool_wire_group(int data_dir_fd, const char *name, char *ret);
/* The prefix of the control groups of all VMs of that folder. */
int vm_tool_wire_group_prefix(int data_dir_fd, char *ret);

int vm_tool_wire_check(const struct vm_tool_wire_request *q, const char *extra, size_t n_fds, struct err *err);
