#include "vm/vmm/vmm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vm/boot/tsc.h"

#define ARG_MAX_BYTES 1024

void vmm_args_add(struct vmm_args *a, const char *fmt, ...)
{
    char text[ARG_MAX_BYTES];
    va_list list;
    va_start(list, fmt);
    int n = vsnprintf(text, sizeof(text), fmt, list);
    va_end(list);
    char *copy = a->n < VMM_ARGS_MAX && n >= 0 && (size_t)n < sizeof(text) ? strdup(text) : NULL;
    if (copy)
        a->list[a->n++] = copy;
    else
        a->is_full = true;
}

void vmm_args_done(struct vmm_args *a)
{
    while (a->n)
        free(a->list[--a->n]);
}

void vmm_command_line(const struct vmm_ops *vmm, bool is_kvm, char ret[VMM_LINE_MAX])
{
    /* With KVM, and so with every VMM that has a vsock, a guest gets the counter's rate from the hypervisor. */
    unsigned long khz = vmm->has_vsock || is_kvm ? 0 : vm_tsc_khz();
    int n = snprintf(ret, VMM_LINE_MAX, "console=ttyS0 quiet panic=-1 reboot=t random.trust_cpu=on iii.channel=%s",
                     vmm->has_vsock ? "vsock pci=off" : "serial");
    if (khz && n > 0)
        (void)snprintf(ret + n, VMM_LINE_MAX - (size_t)n, " tsc_early_khz=%lu lpj=%lu no_timer_check", khz, khz * 4);
}

static const struct vmm_ops *const all[VM_TOOL_WIRE_VMMS] = {
    [VM_TOOL_WIRE_QEMU] = &qemu_ops, [VM_TOOL_WIRE_FIRECRACKER] = &firecracker_ops, [VM_TOOL_WIRE_KRUN] = &libkrun_ops
};

const struct vmm_ops *vmm_by_number(uint32_t number)
{
    return number < VM_TOOL_WIRE_VMMS ? all[number] : NULL;
}

const struct vmm_ops *vmm_by_name(const char *name, uint32_t *ret_number)
{
    for (uint32_t i = 0; i < VM_TOOL_WIRE_VMMS; i++)
        if (all[i] && strcmp(all[i]->name, name) == 0) {
            *ret_number = i;
            return all[i];
        }
    return NULL;
}
