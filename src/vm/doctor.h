/* What the microVM backends lack on this host, for `iii doctor`. May include: base/, vm/. */
#pragma once
#include "base/json.h"

struct vm_doctor_options {
    const char *data_dir;
    const char
        *backends; /* names of the selected backends, in any list; others are reported only where they are installed */
    const char *firecracker, *libkrun; /* III_VM_FIRECRACKER, III_VM_LIBKRUN; "" when not set */
    const char *kernel;                /* III_VM_KERNEL */
    const char *jailer;                /* III_VM_JAILER */
};
/* [{name, ok, required, detail, fix}]; empty when no backend is selected. Loads libkrun into this process. Caller
 * owns. */
json_t *vm_doctor_rows(const struct vm_doctor_options *o);
/* The same for the one backend that `backends` names, without its kernel. Empty for QEMU, whose packages `iii vm
 * setup` names. Caller owns. */
json_t *vm_doctor_needs(const struct vm_doctor_options *o);
