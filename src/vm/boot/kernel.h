/* Chooses and fetches the Linux kernel that guests run: a path that the operator sets, an installed one, or Debian's
 * cloud kernel, which apt downloads (and verifies) and which is unpacked without being installed. Blocks as long as
 * a download takes: only `iii vm setup` uses it. May include: base/, os/. */
#pragma once
#include "base/err.h"

/* Prints a line of progress. */
typedef void vm_kernel_say_fn(void *arg, const char *text);

enum vm_kernel_kind { VM_KERNEL_FILE, VM_KERNEL_FOLDER, VM_KERNEL_DEB, VM_KERNEL_APT };

struct vm_kernel {
    enum vm_kernel_kind kind;
    char *where;    /* the file or folder; for APT the package as NAME=VERSION */
    char *identity; /* `where`, and anything that changes with its contents */
    int image;      /* after vm_kernel_take(): bzImage or vmlinux, open for reading */
    int tree;       /* after it: a folder with lib/modules, or NO_FD */
};

/* Chooses; fetches nothing yet. setting: the operator's path (a bzImage, a vmlinux, a .deb package, or a folder with
 * boot/ and lib/modules/); "" or NULL: none. */
int vm_kernel_choose(const char *setting, vm_kernel_say_fn *say, void *arg, struct vm_kernel *ret, struct err *err);
/* Fetches it. work: an empty folder for downloads and unpacked files; it must stay until vm_kernel_done(). */
int vm_kernel_take(struct vm_kernel *k, int work, vm_kernel_say_fn *say, void *arg, struct err *err);
/* Opens the folder of that version's modules in the tree, or below /; NO_FD: there is none. Caller closes. */
int vm_kernel_modules(const struct vm_kernel *k, const char *version);
void vm_kernel_done(struct vm_kernel *k);
