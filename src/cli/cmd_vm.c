#include "cli/cmd_vm.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "cli/data_folder.h"

int cmd_vm_setup(const struct verbs_args *a)
{
    CLEANUP(free_p) char *folder = data_folder_of(a);
    const char *kernel = verbs_value(a, "kernel");
    return a->hooks->vm_setup(folder, kernel ? kernel : getenv("III_VM_KERNEL"), verbs_value(a, "json") != NULL);
}

int cmd_vm_status(const struct verbs_args *a)
{
    CLEANUP(free_p) char *folder = data_folder_of(a);
    return a->hooks->vm_status(folder, verbs_value(a, "json") != NULL);
}
