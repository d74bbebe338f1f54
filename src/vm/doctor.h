/* What the microVM backends lack on this host, for `iii doctor`. May include: base/, vm/. */
#pragma once
#include "base/json.h"

struct vm_doctor_options {
    const char *data_dir;
    const char *backends;              /* names somebody wants, in any list; rows of others only where they are there */
    const char *firecracker, *libkrun; /* III_VM_FIRECRACKER, III_VM_LIBKRUN; "" when not set */
    const char *kernel;                /* III_VM_KERNEL */
    const char *jailer;                /* III_VM_JAILER */
};
/* [{name, ok, required, detail, fix}]; empty when nobody wants any. Loads libkrun into this process. Caller owns. */
json_t *vm_doctor_rows(const struct vm_doctor_options *o);
/* The same of the one backend that `backends` names, without its kernel; of a QEMU nothing, its packages are named by
 * `iii vm setup`. Caller owns. */
json_t *vm_doctor_needs(const struct vm_doctor_options *o);
