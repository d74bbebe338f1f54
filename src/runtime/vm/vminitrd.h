/* The first root of a guest (initramfs): this binary's agent as /init, the kernel's modules in their order, and the
 * system call filter that the agent puts on the workload. May include: base/, os/. */
#pragma once
#include "base/err.h"
#include "runtime/vm/vmsum.h"

/* Names the contents: differs when the agent, the filter or the kernel (kernel_key) do. */
int vminitrd_key(const char *kernel_key, char ret[VMSUM_HEX], struct err *err);
/* Writes it into the empty file out. modules: the folder that vmmodule_collect() filled. */
int vminitrd_write(int modules, int out, struct err *err);
/* The agent of this binary, a static program. */
const void *vminitrd_agent(size_t *ret_len);
