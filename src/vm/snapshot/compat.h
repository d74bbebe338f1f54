/* What a saved machine can go on with: no monitor checks it, and one that goes on with another CPU or other devices
 * fails in ways that nobody understands. So it is noted with the machine and looked at before it is loaded.
 * May include: base/, vm/. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define VM_COMPAT_CPU_MAX 64

struct vm;
struct vm_image;

/* "GenuineIntel 6 85 7": maker, family, model, stepping. text: of /proc/cpuinfo; "" when it is not said there. */
void vm_compat_cpu(const char *text, char ret[VM_COMPAT_CPU_MAX]);
void vm_compat_host(char ret[VM_COMPAT_CPU_MAX]); /* that of this host */
/* Another number when the monitor's program is another one. */
uint32_t vm_compat_program(const struct vm *vm);
/* Of a machine that this server runs. */
void vm_compat_note(const struct vm *vm, bool is_kvm, struct vm_image *image);
/* ERR_CONFLICT, with what differs. Call it when it is known whether there is KVM. */
int vm_compat_check(const struct vm *vm, const struct vm_image *image, struct err *err);
