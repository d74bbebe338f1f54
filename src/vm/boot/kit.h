/* What every guest is booted from, in DATA/vm/kit:
 *   facts.json        which kernel, and from where; names the folder that counts. Written last, atomically
 *   KERNEL/vmlinux    the kernel as ELF
 *   KERNEL/modules/   the modules it needs, and their order
 *   initramfs-KEY     the agent of this binary as /init, the modules, the seccomp filter
 * `iii vm setup` makes it (vm_kit_make), a server reads it (vm_kit_open) and rebuilds the initramfs when another
 * version of this program made it. May include: base/, os/. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "vm/boot/kernel.h"

#define VM_KIT_FOLDER "vm/kit"
#define VM_KIT_HEX    65

struct vm_kit {
    char *kernel;         /* path of the uncompressed kernel */
    char *initramfs;      /* path of the initramfs */
    char *version;        /* "6.1.0-54-cloud-amd64" */
    char *source;         /* where the kernel came from, for people */
    char key[VM_KIT_HEX]; /* changes with the kernel and the initramfs: templates are keyed by it */
    int64_t kernel_bytes, initramfs_bytes;
};

/* ERR_UNSUPPORTED, with the fix, when there is none or when it was made from another kernel than setting (a path as
 * in III_VM_KERNEL; "" or NULL: any). Blocks for a few milliseconds, some 50 when it rebuilds the initramfs. Needs
 * no privilege. */
int vm_kit_open(const char *data_dir, const char *setting, struct vm_kit *ret, struct err *err);
/* Finds or fetches a kernel and makes the kit; an up-to-date kit is kept (*ret_is_new false). */
int vm_kit_make(const char *data_dir, const char *setting, vm_kernel_say_fn *say, void *arg, bool *ret_is_new,
                struct err *err);
void vm_kit_done(struct vm_kit *k);
