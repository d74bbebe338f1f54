#include "cli/vmcmd.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "cli/datafolder.h"

int vmcmd_setup(const struct verbs_args *a)
{
    CLEANUP(free_p) char *folder = datafolder_of(a);
    const char *kernel = verbs_value(a, "kernel");
    return a->hooks->vm_setup(folder, kernel ? kernel : getenv("III_VM_KERNEL"), verbs_value(a, "json") != NULL);
}

int vmcmd_status(const struct verbs_args *a)
{
    CLEANUP(free_p) char *folder = datafolder_of(a);
    return a->hooks->vm_status(folder, verbs_value(a, "json") != NULL);
}
