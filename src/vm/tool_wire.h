/* What the daemon asks of `iii --vm-tool`: one request of fixed size with descriptors on a SEQPACKET socket, one reply,
 * and the process ends. The tool has root and believes nothing: vm_tool_wire_check() looks at every field, machines get
 * only the descriptors that came along, never a name. May include: base/. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/limits.h"

#define VM_TOOL_WIRE_VERSION    1u
#define VM_TOOL_WIRE_NAME_MAX   20 /* 16 hex digits and NUL */
#define VM_TOOL_WIRE_EXTRA_MAX  65536u
#define VM_TOOL_WIRE_LAYERS_MAX LIMIT_MAX(LAYERS) /* as many as one overlay takes */
#define VM_TOOL_WIRE_MEMORY_MIN LIMIT_MIN(MEMORY_MB)
#define VM_TOOL_WIRE_MEMORY_MAX 1048576u
#define VM_TOOL_WIRE_CPUS_MAX   64u
#define VM_TOOL_WIRE_DISK_MB    LIMIT_MAX(DISK_MB)
#define VM_TOOL_WIRE_MILLI_MAX  4096000u /* of a limit of CPU time */
#define VM_TOOL_WIRE_OVERHEAD_MB \
    512u /* of a monitor beside its guest's memory: translated code, buffers, page tables */
#define VM_TOOL_WIRE_RUN        "vm/run" /* below the data folder: sockets of machines, and their folders */
#define VM_TOOL_WIRE_BOX_SUFFIX ".box"
/* Interfaces of every machine, since none can come later: the first leads out, each other one to one network. */
#define VM_TOOL_WIRE_NIC_OUT 0u
#define VM_TOOL_WIRE_NICS    5u
#define VM_TOOL_WIRE_TAP     "tap" /* and the number: what is behind an interface, in the monitor's network namespace */
#define VM_TOOL_WIRE_TAP_OUT VM_TOOL_WIRE_TAP "0"

enum vm_tool_wire_op {
    VM_TOOL_WIRE_START = 1, /* a machine; the reply has its pid, and a pidfd comes along */
    VM_TOOL_WIRE_KILL,      /* and waits until nothing of it is left */
    VM_TOOL_WIRE_LIMIT,     /* cpu_milli of a running one */
    VM_TOOL_WIRE_FREEZE,    /* for monitors that cannot stop their guest themselves */
    VM_TOOL_WIRE_THAW,
    VM_TOOL_WIRE_BASE,  /* the layers of `extra` as one read-only file system, into VM_TOOL_WIRE_FD_OUT */
    VM_TOOL_WIRE_PROBE, /* is the CPU's virtualization real? The answer is in the kit then (probe.h) */
    VM_TOOL_WIRE_DISK, /* an empty writable one of disk_mb, into VM_TOOL_WIRE_FD_OUT; flags: VM_TOOL_WIRE_VOLUME or 0 */
    VM_TOOL_WIRE_SWITCH, /* a network: its namespace comes back, which lives as long as the descriptor */
    VM_TOOL_WIRE_JOIN,   /* the interface `nic` of a machine to the network in VM_TOOL_WIRE_FD_OUT */
    VM_TOOL_WIRE_LEAVE,
    VM_TOOL_WIRE_EGRESS_REDIRECT, /* its way out: the sockets of runtime/egress_redirect.h come back */
};

enum vm_tool_wire_vmm { VM_TOOL_WIRE_QEMU, VM_TOOL_WIRE_FIRECRACKER, VM_TOOL_WIRE_KRUN, VM_TOOL_WIRE_VMMS };

/* Descriptors of a START, in this order, as far as the monitor has a use for them (vm_tool_wire_fds); of BASE and DISK:
 * one, the file to fill. */
enum vm_tool_wire_fd {
    VM_TOOL_WIRE_FD_AGENT,   /* listening unix sockets: the agent's stream, */
    VM_TOOL_WIRE_FD_CONTROL, /* the monitor's control, */
    VM_TOOL_WIRE_FD_CONSOLE, /* the guest's console, */
    VM_TOOL_WIRE_FD_NOTES,   /* what its warden is asked while a link is served (os/vm_handshake.h) */
    VM_TOOL_WIRE_FD_KERNEL,
    VM_TOOL_WIRE_FD_INITRAMFS,
    VM_TOOL_WIRE_FD_BASE, /* read-only drive */
    VM_TOOL_WIRE_FD_DISK, /* writable drive */
    VM_TOOL_WIRE_FD_RAM,  /* the guest's memory as a file */
    VM_TOOL_WIRE_FD_BOX,  /* a folder, for monitors that make their sockets themselves */
    VM_TOOL_WIRE_FDS,
};
#define VM_TOOL_WIRE_FD_OUT 0
/* Which of them this monitor gets: the first, and how many from there on. */
enum vm_tool_wire_fd vm_tool_wire_fds(uint32_t vmm, size_t *ret_n);

/* Descriptors that come back from a START; of others that bring some, these places. */
enum vm_tool_wire_reply_fd {
    VM_TOOL_WIRE_REPLY_PIDFD,
    VM_TOOL_WIRE_REPLY_ERRORS, /* read end of a pipe: what the monitor complains of */
    VM_TOOL_WIRE_REPLY_FDS,
};

enum {
    VM_TOOL_WIRE_KVM = 1,        /* hardware virtualization, else emulation */
    VM_TOOL_WIRE_INCOMING = 2,   /* waits for the state of a saved machine instead of booting */
    VM_TOOL_WIRE_SHARED_RAM = 4, /* writes go to the memory's file; else they are the machine's own (copy on write) */
    VM_TOOL_WIRE_VOLUME = 8,     /* of a DISK: it outlives machines */
    VM_TOOL_WIRE_TAPS = 16,      /* something is behind its interfaces; else they are there, and lead nowhere */
};

struct vm_tool_wire_request {
    uint32_t version, op;
    char name[VM_TOOL_WIRE_NAME_MAX]; /* of the machine: also its control group */
    uint32_t vmm, flags;
    uint32_t memory_mb, cpus;
    uint32_t cpu_milli; /* 0 = no limit */
    uint32_t disk_mb;
    int32_t pid; /* networks; kill, where the machine has no control group */
    uint64_t start_time;
    uint32_t nic, subnet, address, net_kbps; /* of a membership, as in struct box_plug */
    uint32_t n_layers, extra_len;            /* NUL-ended names below the image folder, lowest first */
};

struct vm_tool_wire_reply {
    uint32_t version;
    int32_t result; /* 0 or -errno */
    int32_t pid;
    uint32_t code; /* enum err_code */
    uint64_t start_time;
    char text[400]; /* of struct err */
};

/* The control group of a machine: named after the data folder, too. ret: CGROUP_NAME_MAX bytes. */
int vm_tool_wire_group(int data_dir_fd, const char *name, char *ret);
/* Also what the groups of all machines of that folder begin with. */
int vm_tool_wire_group_prefix(int data_dir_fd, char *ret);

int vm_tool_wire_check(const struct vm_tool_wire_request *q, const char *extra, size_t n_fds, struct err *err);
