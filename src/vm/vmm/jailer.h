/* Firecracker's own `jailer`, where the operator names one (III_VM_JAILER): it is started as root inside the monitor's
 * namespaces, in a root that has nothing of the host's but /usr, and makes the last step into a root of its own itself.
 * What is here is what it wants: the folder that becomes that root, its command line, the few capabilities that it
 * needs. May include: base/, os/, vm/. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"
#include "vm/vmm/vmm.h"

#define VM_JAILER_OFF      "off"          /* of the setting */
#define VM_JAILER_PATH     "/jailer"      /* in the root that it starts in; it wants a program that is called so: */
#define VM_JAILER_VMM      "/firecracker" /* the one that it copies into its own root */
#define VM_JAILER_ROOM_MAX 128            /* of vm_jailer_root()'s path */

bool vm_jailer_is_wanted(const char *setting);
/* ERR_UNSUPPORTED with the way out where it could not work. */
int vm_jailer_check(const char *setting, bool is_root, struct err *err);
/* Which of the two jails Firecracker gets, for people; false: it would be this one, but for that reason it cannot be.
 */
bool vm_jailer_say(const char *setting, char *ret, size_t size);
/* Hangs a small file system into the root, with the folder in it that the jailer of this machine takes for its own.
 * Made here and now, by root, where nobody else has a name for it: there is no link to follow. ret: where it will be
 * for the jailer. Returns the folder's descriptor. room: bytes of the program that is copied into it. */
int vm_jailer_root(int root, const char *name, off_t room, char ret[VM_JAILER_ROOM_MAX]);
/* Its view of processes: kernels before 5.9 have no other way to close what was inherited. */
int vm_jailer_proc(int root);
void vm_jailer_argv(const char *name, uid_t uid, unsigned files_max, struct vmm_args *a);
/* Stays root with what mounting, device nodes and becoming another user take; all of it ends when it becomes that. */
int vm_jailer_confine(struct err *err);
/* The program that it will start. */
struct vm_jailer_program {
    off_t size;
    bool is_static; /* as the releases are: it needs nothing beside itself; else /usr has to be in its root, too */
};
int vm_jailer_look(const char *path, struct vm_jailer_program *ret, struct err *err);
