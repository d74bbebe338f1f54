/* Which Linux a guest runs, and getting hold of it: a path the operator gives, one that is installed, or Debian's cloud
 * kernel fetched by apt (which checks its signature) and unpacked without being installed. Blocks for as long as a
 * download takes: only `iii vm setup` uses it. May include: base/, os/. */
#pragma once
#include "base/err.h"

/* A line of progress for people. */
typedef void vm_kernel_say_fn(void *arg, const char *text);

enum vm_kernel_kind { VM_KERNEL_FILE, VM_KERNEL_FOLDER, VM_KERNEL_DEB, VM_KERNEL_APT };

struct vm_kernel {
    enum vm_kernel_kind kind;
    char *where;    /* the file or folder; for APT the package as NAME=VERSION */
    char *identity; /* where, and what changes when its contents do */
    int image;      /* after vm_kernel_take(): bzImage or vmlinux, open for reading */
    int tree;       /* after it: a folder with lib/modules, or NO_FD */
};

/* Decides; takes nothing yet. setting: path of the operator (a bzImage, a vmlinux, a .deb package, or a folder with
 * boot/ and lib/modules/), "" or NULL: none. */
int vm_kernel_choose(const char *setting, vm_kernel_say_fn *say, void *arg, struct vm_kernel *ret, struct err *err);
/* Gets it. work: an empty folder for what is fetched and unpacked; has to stay until vm_kernel_done(). */
int vm_kernel_take(struct vm_kernel *k, int work, vm_kernel_say_fn *say, void *arg, struct err *err);
/* The folder of the modules of that version in the tree, or below /; NO_FD: there is none. The caller's. */
int vm_kernel_modules(const struct vm_kernel *k, const char *version);
void vm_kernel_done(struct vm_kernel *k);
