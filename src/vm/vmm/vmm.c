#include "vm/vmm/vmm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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

/* --- the rate of the time stamp counter --- */

#if defined(__x86_64__)
#include <x86intrin.h>

#define WINDOW_NS 1000000
#define TRIES     8 /* for a reading that was not interrupted */

struct moment {
    uint64_t ticks;
    int64_t ns;
};

static int64_t now_ns(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC_RAW, &t); /* cannot fail for this clock */
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* Reads both clocks as close together as possible. */
static struct moment clocks_read(void)
{
    struct moment best = { 0 };
    int64_t narrowest = INT64_MAX;
    for (int i = 0; i < TRIES; i++) {
        int64_t before = now_ns();
        uint64_t ticks = __rdtsc();
        int64_t after = now_ns();
        if (after - before < narrowest) {
            narrowest = after - before;
            best = (struct moment){ .ticks = ticks, .ns = before + narrowest / 2 };
        }
    }
    return best;
}

unsigned long vmm_tsc_khz(void)
{
    const struct timespec window = { .tv_nsec = WINDOW_NS };
    struct moment first = clocks_read();
    (void)nanosleep(&window, NULL); /* an interrupted sleep only makes it less exact */
    struct moment last = clocks_read();
    return last.ns > first.ns && last.ticks > first.ticks
               ? (unsigned long)((double)(last.ticks - first.ticks) * 1e6 / (double)(last.ns - first.ns))
               : 0;
}
#else
unsigned long vmm_tsc_khz(void)
{
    return 0;
}
#endif

/* --- the table --- */

void vmm_command_line(const struct vmm_ops *vmm, bool is_kvm, char ret[VMM_LINE_MAX])
{
    /* With KVM, and so with every VMM that has a vsock, a guest gets the counter's rate from the hypervisor. */
    unsigned long khz = vmm->has_vsock || is_kvm ? 0 : vmm_tsc_khz();
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
