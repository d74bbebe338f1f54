/* The kernel modules a guest needs, taken out of a kernel's modules folder in the order in which they have to be
 * loaded. Dependencies are read from the modules themselves (a package that is not installed has no modules.dep).
 * May include: base/, os/. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define VM_MODULE_ORDER "order" /* beside the modules: their file names, one on each line, in order of loading */
#define VM_MODULE_MAX   (32u << 20)

/* from: /lib/modules/VERSION. to: an empty folder. What the kernel has built in is left out. ERR_NOT_FOUND names a
 * module without which no guest starts. */
int vm_module_collect(int from, int to, struct err *err);
/* The names after "depends=" of a module (an ELF file), comma list. "" when it needs none. -EINVAL: it is damaged. */
int vm_module_depends(const uint8_t *data, size_t len, char *ret, size_t size, struct err *err);
