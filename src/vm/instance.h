/* One VM as processes and files: started from an image folder or booted, with its control connection, the last lines
 * of its console, and its end. What it is used for (a sandbox, a template) is up to the caller. May include: base/,
 * loop/, os/, vm/. */
#pragma once
#include <sys/types.h>

#include "loop/loop.h"
#include "os/cgroup.h"
#include "vm/channel.h"
#include "vm/tool_call.h"
#include "vm/vmm/vmm.h"

/* Shared by all VMs of a driver. */
struct vm_instance_site {
    struct loop *loop;
    const struct vmm_ops *vmm;
    uint32_t vmm_number;
    char *dir;   /* DATA/vm */
    int data_fd; /* DATA */
    int run_fd;  /* DATA/vm/run */
    bool is_kvm;
    bool has_taps;                  /* the tool can put TAP devices behind the interfaces of VMs */
    const char *kernel, *initramfs; /* paths; NULL until they are known */
    struct vm_tool_call_set calls;
};

struct vm_instance;
struct vm_instance_plan {
    const char *name;
    uint32_t memory_mb, cpus, cpu_milli;
    uint32_t flags;      /* VM_TOOL_WIRE_INCOMING, VM_TOOL_WIRE_SHARED_RAM */
    bool is_kvm;         /* it runs on KVM */
    const char *base;    /* path of its read-only drive */
    int ram_fd, disk_fd; /* borrowed for the call */
};
typedef void vm_instance_fn(void *arg, const struct err *err);

void vm_instance_new_name(char ret[VM_TOOL_WIRE_NAME_MAX]);
/* fn: the VM accepts commands. On failure the VM is already gone. */
struct vm_instance *vm_instance_start(struct vm_instance_site *site, const struct vm_instance_plan *plan,
                                      vm_instance_fn *fn, void *arg);
/* Adopts a VM that an earlier server started. Only name and memory_mb of the plan are used. */
struct vm_instance *vm_instance_adopt(struct vm_instance_site *site, const struct vm_instance_plan *plan, pid_t pid,
                                      uint64_t start_time, vm_instance_fn *fn, void *arg);
/* fn: its process has exited unexpectedly. At most once. */
void vm_instance_on_gone(struct vm_instance *m, loop_fn *fn, void *arg);
/* fn: its guest continues after the VMM paused it because the host's disk was full. */
void vm_instance_on_late(struct vm_instance *m, loop_fn *fn, void *arg);
/* Kills the VM and removes its sockets; the handle is invalid at once. fn may be NULL. */
void vm_instance_kill(struct vm_instance *m, vm_instance_fn *fn, void *arg);
/* Stops all callbacks: no call under way is answered and the exit is not reported. For a VM that is about to be
 * killed. */
void vm_instance_hush(struct vm_instance *m);
void vm_instance_forget(struct vm_instance *m); /* frees the handle; the VM continues */

const char *vm_instance_name(const struct vm_instance *m);
pid_t vm_instance_pid(const struct vm_instance *m);
uint64_t vm_instance_start_time(const struct vm_instance *m);
struct vmm *vm_instance_control(struct vm_instance *m);
/* Pauses the guest, by the VMM's command or by freezing its control group. Not answered once the VM is gone. */
void vm_instance_pause(struct vm_instance *m, vm_instance_fn *fn, void *arg);
void vm_instance_resume(struct vm_instance *m, vm_instance_fn *fn, void *arg);
/* vm_channel_open() to its agent: fills in the socket and the port. */
struct vm_channel *vm_instance_handshake(struct vm_instance *m, struct vm_channel_options *opt, vm_channel_fn *fn,
                                         void *arg);
/* The same to its init process, for a note. Only where the VMM has that port (not has_own_port of vmm.h). */
struct vm_channel *vm_instance_note(struct vm_instance *m, struct vm_channel_options *opt, vm_channel_fn *fn,
                                    void *arg);
/* The last lines of its console and of its VMM's errors, sanitized as in console.h. Caller frees. */
char *vm_instance_console_text(struct vm_instance *m);

/* Kills the VM of that name without a handle: one that a crash left. */
void vm_instance_kill_name(struct vm_instance_site *site, const char *name, vm_instance_fn *fn, void *arg);
