/* One virtual machine as processes and files: started from an image folder or booted, its control, its console's last
 * words, its end. What it is for (a sandbox, a template) is the caller's business.
 * May include: base/, loop/, os/, vm/. */
#pragma once
#include <sys/types.h>

#include "loop/loop.h"
#include "os/cgroup.h"
#include "vm/channel.h"
#include "vm/tool_call.h"
#include "vm/vmm/vmm.h"

/* What all machines of a driver share. */
struct vm_instance_site {
    struct loop *loop;
    const struct vmm_ops *vmm;
    uint32_t vmm_number;
    char *dir;   /* DATA/vm */
    int data_fd; /* DATA */
    int run_fd;  /* DATA/vm/run */
    bool is_kvm;
    bool has_taps;                  /* something can be behind the interfaces of machines */
    const char *kernel, *initramfs; /* paths; NULL until they are known */
    struct vm_tool_call_set calls;
};

struct vm_instance;
struct vm_instance_plan {
    const char *name;
    uint32_t memory_mb, cpus, cpu_milli;
    uint32_t flags;      /* VM_TOOL_WIRE_INCOMING, VM_TOOL_WIRE_SHARED_RAM */
    bool is_kvm;         /* the CPU runs it */
    const char *base;    /* path of its read-only drive */
    int ram_fd, disk_fd; /* borrowed for the call */
};
typedef void vm_instance_fn(void *arg, const struct err *err);

void vm_instance_new_name(char ret[VM_TOOL_WIRE_NAME_MAX]);
/* fn: it takes commands. When it fails the machine is gone already. */
struct vm_instance *vm_instance_start(struct vm_instance_site *site, const struct vm_instance_plan *plan,
                                      vm_instance_fn *fn, void *arg);
/* One that a server before us started. Of the plan only name and memory_mb count. */
struct vm_instance *vm_instance_adopt(struct vm_instance_site *site, const struct vm_instance_plan *plan, pid_t pid,
                                      uint64_t start_time, vm_instance_fn *fn, void *arg);
/* Its process has ended by itself. At most once. */
void vm_instance_on_gone(struct vm_instance *m, loop_fn *fn, void *arg);
/* Its guest goes on after it stood still by itself, for want of room on the host's disk. */
void vm_instance_on_late(struct vm_instance *m, loop_fn *fn, void *arg);
/* Ends it and removes its sockets; the handle is gone at once. fn may be NULL. */
void vm_instance_kill(struct vm_instance *m, vm_instance_fn *fn, void *arg);
/* Nobody is told anything any more: no call under way is answered, nor is its end seen. For its last moments. */
void vm_instance_hush(struct vm_instance *m);
void vm_instance_forget(struct vm_instance *m); /* frees the handle, the machine goes on */

const char *vm_instance_name(const struct vm_instance *m);
pid_t vm_instance_pid(const struct vm_instance *m);
uint64_t vm_instance_start_time(const struct vm_instance *m);
struct vmm *vm_instance_control(struct vm_instance *m);
/* Its guest stands still, by the monitor's command or with its whole control group. Not answered after its end. */
void vm_instance_pause(struct vm_instance *m, vm_instance_fn *fn, void *arg);
void vm_instance_resume(struct vm_instance *m, vm_instance_fn *fn, void *arg);
/* vm_channel_open() to its agent: fills in the way there. */
struct vm_channel *vm_instance_handshake(struct vm_instance *m, struct vm_channel_options *opt, vm_channel_fn *fn,
                                         void *arg);
/* The same to its warden, for a note; where the monitor has that port (not has_own_port of vmm.h). */
struct vm_channel *vm_instance_note(struct vm_instance *m, struct vm_channel_options *opt, vm_channel_fn *fn,
                                    void *arg);
/* The last lines of its console, and what its monitor complained of: as console.h makes
 * them fit. Caller frees. */
char *vm_instance_words(struct vm_instance *m);

/* Kills what is called so, without a handle: what a crash left. */
void vm_instance_kill_name(struct vm_instance_site *site, const char *name, vm_instance_fn *fn, void *arg);
