/* Theory of operation. Whether KVM works is found out by a boot, and the result is kept in the kit (probe.h). After
 * a reboot of the host or a change of the kit the tool repeats the probe as soon as a server starts
 * (VM_TOOL_WIRE_PROBE). Whoever wants a VM meanwhile waits for the result, because a VM saved with KVM cannot be
 * restored without, and vice versa. VMMs that cannot emulate are not probed: their first VM reports the error. */
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/log.h"
#include "vm/boot/probe.h"
#include "vm/vm_core.h"

struct vm_ready_wait {
    struct vm_ready_wait *next;
    loop_fn *fn;
    void *arg;
};

static void run_waits(struct vm *vm)
{
    struct vm_ready_wait *first = vm->waits;
    vm->waits = NULL;
    while (first) {
        CLEANUP(free_p) struct vm_ready_wait *w = first;
        first = w->next;
        w->fn(w->arg);
    }
}

/* Loads the result. False: it is not known. */
static bool probe_load(struct vm *vm)
{
    struct vm_probe found = { 0 };
    bool is_known = vm_probe_known(vm->data_dir, &vm->kit, &found);
    vm->site.is_kvm = vm->site.vmm->has_vsock || (is_known && found.is_kvm);
    (void)snprintf(vm->slow_why, sizeof(vm->slow_why), "%s", found.why);
    return is_known;
}

static void on_probed(void *arg, const struct vm_tool_wire_reply *reply, const int fds[VM_TOOL_WIRE_REPLY_FDS],
                      const struct err *err)
{
    struct vm *vm = arg;
    (void)reply;
    (void)fds; /* the reply carries none */
    vm->is_probing = false;
    if (!probe_load(vm))
        (void)snprintf(vm->slow_why, sizeof(vm->slow_why), "cannot determine whether KVM works: %.180s",
                       err ? err->msg : "the kit has changed");
    if (!vm->is_ending)
        log_event(vm->site.is_kvm ? LOG_INFO : LOG_WARN, vm->site.is_kvm ? "backend.kvm" : "backend.slow", "backend",
                  vm->base.ops->name, "machines", vm->site.is_kvm ? "run by the CPU" : "emulated", "why", vm->slow_why,
                  NULL);
    run_waits(vm);
}

int vm_ready_open(struct vm *vm, struct err *err)
{
    if (vm->has_kit)
        return 0;
    int r = vm_kit_open(vm->data_dir, vm->kernel, &vm->kit, err);
    if (r < 0)
        return r;
    vm->has_kit = true;
    vm_compat_host(vm->cpu);
    vm->site.kernel = vm->kit.kernel;
    vm->site.initramfs = vm->kit.initramfs;
    if (probe_load(vm))
        return 0;
    if (vm->site.vmm->has_vsock) {
        (void)vm_probe_may_kvm(vm->slow_why, sizeof(vm->slow_why));
        return 0;
    }
    const struct vm_tool_wire_request q = { .version = VM_TOOL_WIRE_VERSION, .op = VM_TOOL_WIRE_PROBE };
    vm->is_probing = true;
    vm_tool_call_start(&vm->site.calls, &q, "", NULL, 0, on_probed, vm);
    return 0;
}

void vm_ready_when(struct vm *vm, loop_fn *fn, void *arg)
{
    struct vm_ready_wait *w = xzalloc(sizeof(*w));
    *w = (struct vm_ready_wait){ .fn = fn, .arg = arg };
    LIST_APPEND(vm->waits, w);
}

void vm_ready_end(struct vm *vm)
{
    vm_tool_call_cut(&vm->site.calls, on_probed);
    run_waits(vm);
}
