/* What differs between VMMs; everything else is shared (vm.c). An entry has two halves: argv() runs in the
 * privileged tool and uses only checked numbers and fixed names; the rest runs in the daemon and uses the VMM's
 * control socket. Untrusted: what a VMM sends, because a guest may have taken it over. May include: base/, loop/,
 * vm/. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "loop/loop.h"
#include "vm/tool_wire.h"

#define VMM_ARGS_MAX 128
#define VMM_LINE_MAX 512

/* The command line of a VM being started. add() formats one argument; too many or too long ones set is_full, and the
 * VM is not started. */
struct vmm_args {
    char *list[VMM_ARGS_MAX + 1];
    unsigned n;
    bool is_full;
};
void vmm_args_add(struct vmm_args *a, const char *fmt, ...) PRINTF_LIKE(2, 3);
void vmm_args_done(struct vmm_args *a);

/* The number of a descriptor of struct vm_tool_wire_request in the VMM; regular files also have a name in its root. */
#define VMM_FD(which) (10 + (which))
#define VMM_TAP_FD(nic) \
    (VMM_FD(VM_TOOL_WIRE_FD_BOX) + (int)(nic)) /* with VM_TOOL_WIRE_TAPS, unless the VMM opens them by name */
#define VMM_KERNEL_PATH "/kernel"
#define VMM_INITRD_PATH "/initramfs"
#define VMM_BASE_PATH   "/base"
#define VMM_DISK_PATH   "/disk"
#define VMM_RAM_PATH    "/ram"
/* The VM's folder, for VMMs that make their sockets themselves (has_vsock). The VMM can write to it: the daemon
 * follows no link in it (vsock_connect.h). The console is a pipe there. */
#define VMM_BOX_PATH     "/box"
#define VMM_API_NAME     "api.sock"
#define VMM_VSOCK_NAME   "vsock.sock"
#define VMM_CONSOLE_NAME "console"
/* Programs that the operator keeps elsewhere than below /usr. */
#define VMM_PROGRAM_PATH "/monitor"
#define VMM_LIBRARY_PATH "/libkrun.so.1"
#define VMM_SELF         "" /* as a program: this binary */

struct vmm;                                            /* the control connection of one VM */
typedef void vmm_fn(void *arg, const struct err *err); /* err NULL: done. Once, never from inside the call */

/* A drive that is plugged into a running VM. */
struct vmm_drive {
    const char *id; /* its serial number in the guest; at most 30 letters, digits, "_" */
    int fd;         /* borrowed for the call */
    bool is_readonly;
};

struct vmm_start {
    struct loop *loop;
    int box_fd;          /* the folder behind VMM_BOX_PATH, borrowed while the control connection lives; or NO_FD */
    int64_t answer_ms;   /* how long one answer may take; 0: the default of the VMM's driver */
    const char *control; /* path of its control socket */
    const char *command_line; /* of the kernel */
    const struct vm_tool_wire_request *request;
    loop_fn *on_lost; /* the control connection was lost; at most once */
    loop_fn *on_late; /* its guest continues after the VMM paused it; or NULL */
    void *arg;
};

struct vmm_ops {
    unsigned shape;      /* of argv(): changes with its devices, because a saved VM needs the same ones */
    const char *name;    /* also what III_ISOLATION_BACKEND says */
    const char *program; /* looked for in /usr/bin, /usr/local/bin, /usr/sbin */
    bool has_vsock;      /* the agent listens on a vsock behind the agent socket; else on a serial port */
    bool can_save_live;  /* with KVM */
    bool has_own_port;   /* with has_vsock: the socket is bound to the agent's port and to no other */
    bool can_save;       /* has memory snapshots; else VMs are booted, never restored */
    /* In the tool. */
    void (*argv)(const struct vm_tool_wire_request *q, const char *command_line, struct vmm_args *args);
    /* In the daemon. Connects, and calls fn when the VM accepts commands (booting, or waiting for load()). */
    struct vmm *(*open)(const struct vmm_start *s, vmm_fn *fn, void *arg);
    /* The same for a running VM of an earlier server. */
    struct vmm *(*reopen)(const struct vmm_start *s, vmm_fn *fn, void *arg);
    void (*close)(struct vmm *m); /* the VM continues; calls under way are not answered any more */
    /* NULL: the VMM has no such command, and the control group is frozen instead. */
    void (*pause)(struct vmm *m, vmm_fn *fn, void *arg);
    void (*resume)(struct vmm *m, vmm_fn *fn, void *arg);
    /* Saves the VM's state into state_fd (borrowed); the VM is paused when that is done. with_ram: includes the
     * memory; else only what is not in the memory's file (VM_TOOL_WIRE_SHARED_RAM). Pause the VM before, unless
     * can_save_live: then it runs while most of its memory is sent, and a pause in between ends that. */
    void (*save)(struct vmm *m, int state_fd, bool with_ram, vmm_fn *fn, void *arg);
    /* Saves state and memory of a paused VM, each into a file from which others can be loaded. NULL: the VMM sends
     * them as one stream (save with_ram), which only another VM can take apart. */
    void (*save_apart)(struct vmm *m, int state_fd, int ram_fd, vmm_fn *fn, void *arg);
    /* Drives of a running VM. NULL: it has only those it was started with. Unplug a drive when the guest no longer
     * uses it. has_drive: ERR_NOT_FOUND when it has none of that id. */
    void (*plug)(struct vmm *m, const struct vmm_drive *d, vmm_fn *fn, void *arg);
    void (*unplug)(struct vmm *m, const char *id, vmm_fn *fn, void *arg);
    void (*has_drive)(struct vmm *m, const char *id, vmm_fn *fn, void *arg);
    /* Loads a state into a VM started with VM_TOOL_WIRE_INCOMING; it is paused then. */
    void (*load)(struct vmm *m, int state_fd, bool with_ram, vmm_fn *fn, void *arg);
};

extern const struct vmm_ops qemu_ops, firecracker_ops, libkrun_ops;
/* The kernel's command line under this VMM. Takes a millisecond for one that emulates. */
/* The rate of this CPU's time stamp counter, which an emulated guest sees as its own and gets by the command line. A
 * guest that measures it sometimes hangs. With the CPU's present frequency (in /proc, which changes with the load) its
 * clock would run fast or slow. Measures for a millisecond. 0: this CPU has no such counter. */
unsigned long vmm_tsc_khz(void);
void vmm_command_line(const struct vmm_ops *vmm, bool is_kvm, char ret[VMM_LINE_MAX]);
/* By enum vm_tool_wire_vmm or name; NULL: unknown. */
const struct vmm_ops *vmm_by_number(uint32_t number);
const struct vmm_ops *vmm_by_name(const char *name, uint32_t *ret_number);
