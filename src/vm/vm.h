/* The microVM drivers: a sandbox is a virtual machine with a kernel of its own, our agent as its first process, the
 * image's files on a read-only drive that all machines share, and a private writable one. Which monitor runs it (QEMU,
 * Firecracker, libkrun) is one row behind vmm.h. May include: base/, os/, loop/, runtime/. */
#pragma once
#include "os/cgroup.h"
#include "os/keeper.h"
#include "runtime/runtime.h"

/* A template begins to be made (took_ms is -1), or is there: the first create of an image and size takes that long. */
struct vm_template {
    const char *backend, *base; /* base: of the image's files */
    uint32_t memory_mb, cpus;
    int64_t took_ms;
};
typedef void vm_template_fn(const struct vm_template *t);

struct vm_options {
    const char *backend;               /* "qemu", … */
    const char *data_dir;              /* vm/ lives below it */
    const char *image_dir;             /* every layer lies below it */
    const char *kernel;                /* the operator's own; "" is what `iii vm setup` found */
    const char *firecracker;           /* path of the program; "" where it usually is */
    uint32_t volume_mb;                /* size of a new volume */
    struct keeper *keeper;             /* who starts the tool; borrowed */
    unsigned tool_job;                 /* which of the keeper's jobs it is */
    const struct cgroup_host *cgroups; /* borrowed */
    bool has_templates;                /* sandboxes are restored, where the monitor can save; else booted */
    vm_template_fn *on_template;       /* or NULL */
};

bool vm_is_backend(const char *name);
/* Boots nothing yet: what is missing is said by the first create. */
int vm_new(struct loop *l, const struct vm_options *opt, struct runtime **ret, struct err *err);
/* What an operator should know of a driver that was just made: machines are emulated and slow, or cannot be booted yet.
 * "" when all is well. Borrowed. */
const char *vm_notice(struct runtime *rt);
bool vm_can_emulate(const struct runtime *rt); /* its monitor runs guests without the CPU's help, if slowly */
