/* `iii vm setup` and `iii vm status`: make the kit that microVMs are booted from, and report it. Both print, block
 * and return the exit code of the command. May include: base/, os/. */
#pragma once
#include <stdbool.h>

/* kernel: as III_VM_KERNEL, or NULL. 0 done, 1 failed. */
int vm_setup_run(const char *data_dir, const char *kernel, bool is_json);
/* jailer: as III_VM_JAILER. 0 guests can be booted, 1 something is missing (the output names it and the fix). */
int vm_setup_status(const char *data_dir, const char *jailer, bool is_json);
