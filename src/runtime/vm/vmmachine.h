/* One virtual machine as processes and files: started from an image folder or booted, its control, its console's last
 * words, its end. What it is for (a sandbox, a template) is the caller's business.
 * May include: base/, loop/, os/, runtime/vm/. */
#pragma once
#include <sys/types.h>

#include "loop/loop.h"
#include "os/cgroup.h"
#include "runtime/vm/vmcall.h"
#include "runtime/vm/vmchannel.h"
#include "runtime/vm/vmm.h"

/* What all machines of a driver share. */
struct vmmachine_site {
    struct loop *loop;
    const struct vmm_ops *vmm;
    uint32_t vmm_number;
    char *dir;   /* DATA/vm */
    int data_fd; /* DATA */
    int run_fd;  /* DATA/vm/run */
    bool is_kvm;
    bool has_taps;                  /* something can be behind the interfaces of machines */
    const char *kernel, *initramfs; /* paths; NULL until they are known */
    struct vmcall_set calls;
};

struct vmmachine;
struct vmmachine_plan {
    const char *name;
    uint32_t memory_mb, cpus, cpu_milli;
    uint32_t flags;      /* VMWIRE_INCOMING, VMWIRE_SHARED_RAM */
    bool is_kvm;         /* the CPU runs it */
    const char *base;    /* path of its read-only drive */
    int ram_fd, disk_fd; /* borrowed for the call */
};
typedef void vmmachine_fn(void *arg, const struct err *err);

void vmmachine_new_name(char ret[VMWIRE_NAME_MAX]);
/* fn: it takes commands. When it fails the machine is gone already. */
struct vmmachine *vmmachine_start(struct vmmachine_site *site, const struct vmmachine_plan *plan, vmmachine_fn *fn,
                                  void *arg);
/* One that a server before us started. Of the plan only name and memory_mb count. */
struct vmmachine *vmmachine_adopt(struct vmmachine_site *site, const struct vmmachine_plan *plan, pid_t pid,
                                  uint64_t start_time, vmmachine_fn *fn, void *arg);
/* Its process has ended by itself. At most once. */
void vmmachine_on_gone(struct vmmachine *m, loop_fn *fn, void *arg);
/* Its guest goes on after it stood still by itself, for want of room on the host's disk. */
void vmmachine_on_late(struct vmmachine *m, loop_fn *fn, void *arg);
/* Ends it and removes its sockets; the handle is gone at once. fn may be NULL. */
void vmmachine_kill(struct vmmachine *m, vmmachine_fn *fn, void *arg);
/* Nobody is told anything any more: no call under way is answered, nor is its end seen. For its last moments. */
void vmmachine_hush(struct vmmachine *m);
void vmmachine_forget(struct vmmachine *m); /* frees the handle, the machine goes on */

const char *vmmachine_name(const struct vmmachine *m);
pid_t vmmachine_pid(const struct vmmachine *m);
uint64_t vmmachine_start_time(const struct vmmachine *m);
struct vmm *vmmachine_control(struct vmmachine *m);
/* Its guest stands still, by the monitor's command or with its whole control group. Not answered after its end. */
void vmmachine_pause(struct vmmachine *m, vmmachine_fn *fn, void *arg);
void vmmachine_resume(struct vmmachine *m, vmmachine_fn *fn, void *arg);
/* vmchannel_open() to its agent: fills in the way there. */
struct vmchannel *vmmachine_greet(struct vmmachine *m, struct vmchannel_options *opt, vmchannel_fn *fn, void *arg);
/* The same to its warden, for a note; where the monitor has that port (not has_own_port of vmm.h). */
struct vmchannel *vmmachine_note(struct vmmachine *m, struct vmchannel_options *opt, vmchannel_fn *fn, void *arg);
/* The last lines of its console, and what its monitor complained of: as vmwords.h makes
 * them fit. Caller frees. */
char *vmmachine_words(struct vmmachine *m);

/* Kills what is called so, without a handle: what a crash left. */
void vmmachine_kill_name(struct vmmachine_site *site, const char *name, vmmachine_fn *fn, void *arg);
