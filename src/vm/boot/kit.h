/* What every guest is booted from, in DATA/vm/kit:
 *   facts.json        which kernel, where from; names the folder that counts. Written last, at once
 *   KERNEL/vmlinux    the kernel as ELF
 *   KERNEL/modules/   the modules it needs, and their order
 *   initramfs-KEY     the first root: the agent of this binary as /init, the modules, the system call filter
 * `iii vm setup` makes it (vm_kit_make), a server reads it (vm_kit_open) and, when it is another version of this
 * program than the one that made it, makes the initramfs anew. May include: base/, os/. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "vm/boot/kernel.h"

#define VM_KIT_FOLDER "vm/kit"
#define VM_KIT_HEX    65

struct vm_kit {
    char *kernel;         /* path of the uncompressed kernel */
    char *initramfs;      /* path of the first root */
    char *version;        /* "6.1.0-54-cloud-amd64" */
    char *source;         /* where the kernel came from, for people */
    char key[VM_KIT_HEX]; /* changes whenever the kernel or the first root does: what was booted from it goes by it */
    int64_t kernel_bytes, initramfs_bytes;
};

/* ERR_UNSUPPORTED with the way out when there is none, or when it was made from another kernel than setting (a path as
 * III_VM_KERNEL has it; "" or NULL: whichever it is). Blocks for a few milliseconds, some 50 when it has to make the
 * initramfs. Needs no privilege. */
int vm_kit_open(const char *data_dir, const char *setting, struct vm_kit *ret, struct err *err);
/* Finds or fetches a kernel and makes the kit; what is there and up to date is kept (*ret_is_new false). */
int vm_kit_make(const char *data_dir, const char *setting, vm_kernel_say_fn *say, void *arg, bool *ret_is_new,
                struct err *err);
void vm_kit_done(struct vm_kit *k);
