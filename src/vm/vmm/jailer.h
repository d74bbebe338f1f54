/* Firecracker's own `jailer`, where the operator sets one (III_VM_JAILER). It starts as root inside the VMM's
 * namespaces, in a root that has nothing of the host but /usr, and pivots into its own root itself. This file makes
 * what it needs: the folder that becomes that root, its command line, its few capabilities. May include: base/, os/,
 * vm/. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"
#include "vm/vmm/vmm.h"

#define VM_JAILER_OFF      "off"          /* of the setting */
#define VM_JAILER_PATH     "/jailer"      /* in the root that it starts in; it requires this name for the program: */
#define VM_JAILER_VMM      "/firecracker" /* which it copies into its own root */
#define VM_JAILER_ROOM_MAX 128            /* of the path that vm_jailer_root() returns */

bool vm_jailer_is_wanted(const char *setting);
/* ERR_UNSUPPORTED, with the fix, where it cannot work. */
int vm_jailer_check(const char *setting, bool is_root, struct err *err);
/* Describes which of the two jails Firecracker gets; false: the jailer is set but cannot work, and why. */
bool vm_jailer_say(const char *setting, char *ret, size_t size);
/* Mounts a small file system into the root, with the folder that the jailer of this VM uses. Root makes it here
 * where nobody else has a name for it, so there is no link to follow. ret: its path as the jailer sees it. Returns
 * the folder's descriptor. room: bytes of the program that is copied into it. */
int vm_jailer_root(int root, const char *name, off_t room, char ret[VM_JAILER_ROOM_MAX]);
/* Mounts its /proc: on kernels before 5.9 it closes inherited descriptors through it. */
int vm_jailer_proc(int root);
void vm_jailer_argv(const char *name, uid_t uid, unsigned files_max, struct vmm_args *a);
/* Stays root with the capabilities for mounting, device nodes and changing the user; they end with that change. */
int vm_jailer_confine(struct err *err);
/* The program that the jailer starts. */
struct vm_jailer_program {
    off_t size;
    bool is_static; /* as the releases are: it needs no other file; else its root needs /usr as well */
};
int vm_jailer_look(const char *path, struct vm_jailer_program *ret, struct err *err);
