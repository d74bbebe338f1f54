/* What the daemon asks of `iii --vm-tool`: one request of fixed size with descriptors on a SEQPACKET socket, one reply,
 * and the process ends. The tool has root and believes nothing: vmwire_check() looks at every field, machines get only
 * the descriptors that came along, never a name. May include: base/. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define VMWIRE_VERSION     1u
#define VMWIRE_NAME_MAX    20 /* 16 hex digits and NUL */
#define VMWIRE_EXTRA_MAX   65536u
#define VMWIRE_LAYERS_MAX  230u /* as many as one overlay takes */
#define VMWIRE_MEMORY_MIN  64u
#define VMWIRE_MEMORY_MAX  1048576u
#define VMWIRE_CPUS_MAX    64u
#define VMWIRE_DISK_MB     16777216u
#define VMWIRE_MILLI_MAX   4096000u /* of a limit of CPU time */
#define VMWIRE_OVERHEAD_MB 512u     /* of a monitor beside its guest's memory: translated code, buffers, page tables */
#define VMWIRE_RUN         "vm/run" /* below the data folder: sockets of machines, and their folders */
#define VMWIRE_BOX_SUFFIX  ".box"
/* Interfaces of every machine, since none can come later: the first leads out, each other one to one network. */
#define VMWIRE_NIC_OUT 0u
#define VMWIRE_NICS    5u
#define VMWIRE_TAP     "tap" /* and the number: what is behind an interface, in the monitor's network namespace */
#define VMWIRE_TAP_OUT VMWIRE_TAP "0"

enum vmwire_op {
    VMWIRE_START = 1, /* a machine; the reply has its pid, and a pidfd comes along */
    VMWIRE_KILL,      /* and waits until nothing of it is left */
    VMWIRE_LIMIT,     /* cpu_milli of a running one */
    VMWIRE_FREEZE,    /* for monitors that cannot stop their guest themselves */
    VMWIRE_THAW,
    VMWIRE_BASE,   /* the layers of `extra` as one read-only file system, into VMWIRE_FD_OUT */
    VMWIRE_PROBE,  /* is the CPU's virtualization real? The answer is in the kit then (vmprobe.h) */
    VMWIRE_DISK,   /* an empty writable one of disk_mb, into VMWIRE_FD_OUT; flags: VMWIRE_VOLUME or 0 */
    VMWIRE_SWITCH, /* a network: its namespace comes back, which lives as long as the descriptor */
    VMWIRE_JOIN,   /* the interface `nic` of a machine to the network in VMWIRE_FD_OUT */
    VMWIRE_LEAVE,
    VMWIRE_OUTLET, /* its way out: the sockets of runtime/outlet.h come back */
};

enum vmwire_vmm { VMWIRE_QEMU, VMWIRE_FIRECRACKER, VMWIRE_KRUN, VMWIRE_VMMS };

/* Descriptors of a START, in this order, as far as the monitor has a use for them (vmwire_fds); of BASE and DISK: one,
 * the file to fill. */
enum vmwire_fd {
    VMWIRE_FD_AGENT,   /* listening unix sockets: the agent's stream, */
    VMWIRE_FD_CONTROL, /* the monitor's control, */
    VMWIRE_FD_CONSOLE, /* the guest's console, */
    VMWIRE_FD_NOTES,   /* what its warden is asked while a link is served (os/vmhello.h) */
    VMWIRE_FD_KERNEL,
    VMWIRE_FD_INITRAMFS,
    VMWIRE_FD_BASE, /* read-only drive */
    VMWIRE_FD_DISK, /* writable drive */
    VMWIRE_FD_RAM,  /* the guest's memory as a file */
    VMWIRE_FD_BOX,  /* a folder, for monitors that make their sockets themselves */
    VMWIRE_FDS,
};
#define VMWIRE_FD_OUT 0
/* Which of them this monitor gets: the first, and how many from there on. */
enum vmwire_fd vmwire_fds(uint32_t vmm, size_t *ret_n);

/* Descriptors that come back from a START; of others that bring some, these places. */
enum vmwire_reply_fd {
    VMWIRE_REPLY_PIDFD,
    VMWIRE_REPLY_ERRORS, /* read end of a pipe: what the monitor complains of */
    VMWIRE_REPLY_FDS,
};

enum {
    VMWIRE_KVM = 1,        /* hardware virtualization, else emulation */
    VMWIRE_INCOMING = 2,   /* waits for the state of a saved machine instead of booting */
    VMWIRE_SHARED_RAM = 4, /* writes go to the memory's file; else they are the machine's own (copy on write) */
    VMWIRE_VOLUME = 8,     /* of a DISK: it outlives machines */
    VMWIRE_TAPS = 16,      /* something is behind its interfaces; else they are there, and lead nowhere */
};

struct vmwire_request {
    uint32_t version, op;
    char name[VMWIRE_NAME_MAX]; /* of the machine: also its control group */
    uint32_t vmm, flags;
    uint32_t memory_mb, cpus;
    uint32_t cpu_milli; /* 0 = no limit */
    uint32_t disk_mb;
    int32_t pid; /* networks; kill, where the machine has no control group */
    uint64_t start_time;
    uint32_t nic, subnet, address, net_kbps; /* of a membership, as in struct box_plug */
    uint32_t n_layers, extra_len;            /* NUL-ended names below the image folder, lowest first */
};

struct vmwire_reply {
    uint32_t version;
    int32_t result; /* 0 or -errno */
    int32_t pid;
    uint32_t code; /* enum err_code */
    uint64_t start_time;
    char text[400]; /* of struct err */
};

/* The control group of a machine: named after the data folder, too. ret: CGROUP_NAME_MAX bytes. */
int vmwire_group(int data_dir_fd, const char *name, char *ret);
/* Also what the groups of all machines of that folder begin with. */
int vmwire_group_prefix(int data_dir_fd, char *ret);

int vmwire_check(const struct vmwire_request *q, const char *extra, size_t n_fds, struct err *err);
