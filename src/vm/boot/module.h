/* Collects the kernel modules that a guest needs from a kernel's modules folder, in load order. Dependencies are
 * read from the modules themselves, because a package that is not installed has no modules.dep. May include: base/,
 * os/. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define VM_MODULE_ORDER "order" /* file beside the modules: their file names, one on each line, in load order */
#define VM_MODULE_MAX   (32u << 20)

/* from: /lib/modules/VERSION. to: an empty folder. Built-in modules are left out. ERR_NOT_FOUND names a module
 * without which no guest boots. */
int vm_module_collect(int from, int to, struct err *err);
/* Reads the comma-separated list after "depends=" of a module (an ELF file). "" when it needs none. -EINVAL: it is
 * damaged. */
int vm_module_depends(const uint8_t *data, size_t len, char *ret, size_t size, struct err *err);
