/* The initramfs of a guest: this binary's agent as /init, the kernel's modules in their order, and the system call
 * filter that the agent puts on the workload. May include: base/, os/. */
#pragma once
#include "base/digest.h"
#include "base/err.h"

/* The key of the contents: differs when the agent, the filter or the kernel (kernel_key) differ. */
int vm_initrd_key(const char *kernel_key, char ret[DIGEST_HEX], struct err *err);
/* Writes it into the empty file out. modules: the folder that vm_module_collect() filled. */
int vm_initrd_write(int modules, int out, struct err *err);
/* The agent of this binary, a static program. */
const void *vm_initrd_agent(size_t *ret_len);
