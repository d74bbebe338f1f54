/* The microVM drivers. A sandbox is a VM with a kernel of its own, our agent as its first process, the image's files
 * on a read-only drive that all VMs share, and a private writable drive. The VMM (QEMU, Firecracker, libkrun) is one
 * entry behind vmm.h. May include: base/, os/, loop/, runtime/. */
#pragma once
#include "os/cgroup.h"
#include "os/keeper.h"
#include "runtime/runtime.h"

/* A template is being built (took_ms is -1) or is complete: the first create of an image and size takes that long. */
struct vm_template {
    const char *backend, *base; /* base: key of the image's read-only drive */
    uint32_t memory_mb, cpus;
    int64_t took_ms;
};
typedef void vm_template_fn(const struct vm_template *t);

struct vm_options {
    const char *backend;               /* "qemu", … */
    const char *data_dir;              /* vm/ lives below it */
    const char *image_dir;             /* every layer lies below it */
    const char *kernel;                /* the operator's own; "": the one that `iii vm setup` found */
    const char *firecracker;           /* path of the program; "": the usual places */
    struct keeper *keeper;             /* starts the tool; borrowed */
    unsigned tool_job;                 /* the keeper's job that is the tool */
    const struct cgroup_host *cgroups; /* borrowed */
    bool has_templates;                /* restore sandboxes where the VMM can save; else boot them */
    vm_template_fn *on_template;       /* or NULL */
};

bool vm_is_backend(const char *name);
/* Boots nothing yet: the first create reports what is missing. */
int vm_new(struct loop *l, const struct vm_options *opt, struct runtime **ret, struct err *err);
/* What an operator should know about a new driver: VMs are emulated and slow, or cannot be booted yet. "" when all
 * is well. Borrowed. */
const char *vm_notice(struct runtime *rt);
bool vm_can_emulate(const struct runtime *rt); /* its VMM runs guests without KVM, slowly */
