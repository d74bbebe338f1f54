/* libkrun is a library that takes over the process of the VM (libkrun_vm.c). It has no control socket and no
 * snapshots: its VMs are booted, not restored, and are paused by freezing their control group. The VM ends with its
 * process. */
#include <stdlib.h>

#include "base/alloc.h"
#include "vm/vmm/vmm.h"

struct vmm {
    struct loop *loop;
    vmm_fn *fn;
    void *arg;
    bool is_closed;
};

static void libkrun_argv(const struct vm_tool_wire_request *q, const char *command_line, struct vmm_args *a)
{
    vmm_args_add(a, "%s", q->name); /* by which tool.c finds it */
    vmm_args_add(a, "--krun-vm");
    vmm_args_add(a, "%u", q->cpus);
    vmm_args_add(a, "%u", q->memory_mb);
    vmm_args_add(a, "%s", command_line);
}

static void control_on_open(void *arg)
{
    struct vmm *m = arg;
    vmm_fn *fn = m->fn;
    m->fn = NULL;
    if (m->is_closed)
        free(m);
    else
        fn(m->arg, NULL);
}

/* There is no control socket: the VM boots, and its agent replies or does not. */
static struct vmm *libkrun_open(const struct vmm_start *s, vmm_fn *fn, void *arg)
{
    struct vmm *m = xzalloc(sizeof(*m));
    *m = (struct vmm){ .loop = s->loop, .fn = fn, .arg = arg };
    loop_defer(s->loop, control_on_open, m);
    return m;
}

static void libkrun_close(struct vmm *m)
{
    if (!m)
        return;
    m->is_closed = true;
    if (!m->fn)
        free(m);
}

const struct vmm_ops libkrun_ops = { .name = "krun",
                                     .program = VMM_SELF,
                                     .has_vsock = true,
                                     .has_own_port = true,
                                     .argv = libkrun_argv,
                                     .open = libkrun_open,
                                     .reopen = libkrun_open,
                                     .close = libkrun_close };
