/* What a saved VM must be restored on. No VMM checks this, and a VM that continues on another CPU or with other
 * devices fails in obscure ways. So it is recorded with the VM and checked before a load. May include: base/, vm/. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define VM_COMPAT_CPU_MAX 64

struct vm;
struct vm_image;

/* "GenuineIntel 6 85 7": vendor, family, model, stepping. text: of /proc/cpuinfo; "" when it is not there. */
void vm_compat_cpu(const char *text, char ret[VM_COMPAT_CPU_MAX]);
void vm_compat_host(char ret[VM_COMPAT_CPU_MAX]); /* that of this host */
/* A number that changes with the VMM's program file. */
uint32_t vm_compat_program(const struct vm *vm);
/* Records the values of this host for a VM of this server. */
void vm_compat_note(const struct vm *vm, bool is_kvm, struct vm_image *image);
/* ERR_CONFLICT names the difference. Call it when the probe for KVM is over. */
int vm_compat_check(const struct vm *vm, const struct vm_image *image, struct err *err);
