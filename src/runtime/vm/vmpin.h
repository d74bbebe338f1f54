/* What a saved machine can go on with: no monitor checks it, and one that goes on with another CPU or other devices
 * fails in ways that nobody understands. So it is noted with the machine and looked at before it is loaded.
 * May include: base/, runtime/vm/. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define VMPIN_CPU_MAX 64

struct vm;
struct vmimage;

/* "GenuineIntel 6 85 7": maker, family, model, stepping. text: of /proc/cpuinfo; "" when it is not said there. */
void vmpin_cpu(const char *text, char ret[VMPIN_CPU_MAX]);
void vmpin_host(char ret[VMPIN_CPU_MAX]); /* that of this host */
/* Another number when the monitor's program is another one. */
uint32_t vmpin_program(const struct vm *vm);
/* Of a machine that this server runs. */
void vmpin_note(const struct vm *vm, bool is_kvm, struct vmimage *image);
/* ERR_CONFLICT, with what differs. Call it when it is known whether there is KVM. */
int vmpin_check(const struct vm *vm, const struct vmimage *image, struct err *err);
