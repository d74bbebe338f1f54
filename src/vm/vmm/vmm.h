/* What differs between virtual machine monitors; all else is the same for each (vm.c). An entry has two halves: argv()
 * runs in the privileged tool and is made of checked numbers and fixed names only; the rest runs in the daemon and
 * talks to the monitor's control socket. What a monitor says is untrusted: a guest may have taken it over.
 * May include: base/, loop/, vm/. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "loop/loop.h"
#include "vm/tool_wire.h"

#define VMM_ARGS_MAX 128
#define VMM_LINE_MAX 512

/* The command line of a machine in the making. add() formats one argument; too many or too long ones set
 * is_full, and the machine is not started. */
struct vmm_args {
    char *list[VMM_ARGS_MAX + 1];
    unsigned n;
    bool is_full;
};
void vmm_args_add(struct vmm_args *a, const char *fmt, ...) PRINTF_LIKE(2, 3);
void vmm_args_done(struct vmm_args *a);

/* Where a descriptor of struct vm_tool_wire_request is for the monitor: under its number, and regular files by a name
 * in its root as well. */
#define VMM_FD(which) (10 + (which))
#define VMM_TAP_FD(nic) \
    (VMM_FD(VM_TOOL_WIRE_FD_BOX) + (int)(nic)) /* with VM_TOOL_WIRE_TAPS, unless it opens them by name */
#define VMM_KERNEL_PATH "/kernel"
#define VMM_INITRD_PATH "/initramfs"
#define VMM_BASE_PATH   "/base"
#define VMM_DISK_PATH   "/disk"
#define VMM_RAM_PATH    "/ram"
/* The machine's folder, for monitors that make their sockets themselves (has_vsock). It is theirs to write: the daemon
 * opens nothing in it by a name that it would follow (vsock_connect.h). Its console is a pipe there. */
#define VMM_BOX_PATH     "/box"
#define VMM_API_NAME     "api.sock"
#define VMM_VSOCK_NAME   "vsock.sock"
#define VMM_CONSOLE_NAME "console"
/* What the operator has put somewhere else than below /usr. */
#define VMM_PROGRAM_PATH "/monitor"
#define VMM_LIBRARY_PATH "/libkrun.so.1"
#define VMM_SELF         "" /* as a program: this one */

struct vmm;                                            /* one machine's control */
typedef void vmm_fn(void *arg, const struct err *err); /* err NULL: done. Once, never from inside the call */

/* A drive that comes while the machine runs. */
struct vmm_drive {
    const char *id; /* the guest knows it by this as its serial number; at most 30 letters, digits, "_" */
    int fd;         /* borrowed for the call */
    bool is_readonly;
};

struct vmm_start {
    struct loop *loop;
    int box_fd;               /* the folder behind VMM_BOX_PATH, borrowed while the machine's control lives; or NO_FD */
    int64_t answer_ms;        /* how long one answer may take; 0: as long as the monitor's driver thinks */
    const char *control;      /* path of its control socket */
    const char *command_line; /* of the kernel */
    const struct vm_tool_wire_request *request;
    loop_fn *on_lost; /* the control connection broke, by itself; at most once */
    loop_fn *on_late; /* its guest goes on after it stood still by itself; or NULL */
    void *arg;
};

struct vmm_ops {
    unsigned shape;      /* of argv(): another number whenever its devices change, since saved machines need the same */
    const char *name;    /* also what III_ISOLATION_BACKEND says */
    const char *program; /* looked for in /usr/bin, /usr/local/bin, /usr/sbin */
    bool has_vsock;      /* the agent listens on a vsock behind the agent socket, else a serial port */
    bool can_save_live;  /* with hardware virtualization */
    bool has_own_port;   /* with has_vsock: the socket leads to the agent's port by itself, and to no other */
    bool can_save;       /* memory snapshots; else machines are booted, never restored */
    /* In the tool. */
    void (*argv)(const struct vm_tool_wire_request *q, const char *command_line, struct vmm_args *args);
    /* In the daemon. Connects, and tells fn when the machine takes commands (booting or waiting for load()). */
    struct vmm *(*open)(const struct vmm_start *s, vmm_fn *fn, void *arg);
    /* The same for one that runs already: a server before us started it. */
    struct vmm *(*reopen)(const struct vmm_start *s, vmm_fn *fn, void *arg);
    void (*close)(struct vmm *m); /* the machine goes on; calls under way are not answered any more */
    /* NULL: it has no such command, and its control group is frozen instead. */
    void (*pause)(struct vmm *m, vmm_fn *fn, void *arg);
    void (*resume)(struct vmm *m, vmm_fn *fn, void *arg);
    /* Its state into state_fd (borrowed); it stands still when that is done. with_ram: the memory too, else only what
     * is not in the memory's file (VM_TOOL_WIRE_SHARED_RAM). Pause it before, unless can_save_live: then it runs on
     * while most of its memory is sent, and a pause in between makes an end of that. */
    void (*save)(struct vmm *m, int state_fd, bool with_ram, vmm_fn *fn, void *arg);
    /* Of a paused machine: its state and its memory, each into a file from which others can be loaded. NULL: it sends
     * them as one stream (save with_ram), which only another machine can take apart. */
    void (*save_apart)(struct vmm *m, int state_fd, int ram_fd, vmm_fn *fn, void *arg);
    /* Drives of a running machine. NULL: those that it was started with are all. Take one out when the guest does not
     * use it any more. has_drive: ERR_NOT_FOUND when it has none of that id. */
    void (*plug)(struct vmm *m, const struct vmm_drive *d, vmm_fn *fn, void *arg);
    void (*unplug)(struct vmm *m, const char *id, vmm_fn *fn, void *arg);
    void (*has_drive)(struct vmm *m, const char *id, vmm_fn *fn, void *arg);
    /* Into one started with VM_TOOL_WIRE_INCOMING; it is paused then. */
    void (*load)(struct vmm *m, int state_fd, bool with_ram, vmm_fn *fn, void *arg);
};

extern const struct vmm_ops qemu_ops, firecracker_ops, libkrun_ops;
/* The kernel's command line under this monitor. Takes a millisecond for one that emulates. */
void vmm_command_line(const struct vmm_ops *vmm, bool is_kvm, char ret[VMM_LINE_MAX]);
/* By enum vm_tool_wire_vmm or name; NULL: no such. */
const struct vmm_ops *vmm_by_number(uint32_t number);
const struct vmm_ops *vmm_by_name(const char *name, uint32_t *ret_number);
