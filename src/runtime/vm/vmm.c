#include "runtime/vm/vmm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARG_MAX_BYTES 1024

void vmm_args_add(struct vmm_args *a, const char *fmt, ...)
{
    char text[ARG_MAX_BYTES];
    va_list list;
    va_start(list, fmt);
    int n = vsnprintf(text, sizeof(text), fmt, list);
    va_end(list);
    char *copy = a->n < VMM_ARGS_MAX && n >= 0 && (size_t)n < sizeof(text) ? strdup(text) : NULL;
    if (copy)
        a->list[a->n++] = copy;
    else
        a->is_full = true;
}

void vmm_args_done(struct vmm_args *a)
{
    while (a->n)
        free(a->list[--a->n]);
}

static const struct vmm_ops *const all[VMWIRE_VMMS] = { [VMWIRE_QEMU] = &qemu_ops };

const struct vmm_ops *vmm_by_number(uint32_t number)
{
    return number < VMWIRE_VMMS ? all[number] : NULL;
}

const struct vmm_ops *vmm_by_name(const char *name, uint32_t *ret_number)
{
    for (uint32_t i = 0; i < VMWIRE_VMMS; i++)
        if (all[i] && strcmp(all[i]->name, name) == 0) {
            *ret_number = i;
            return all[i];
        }
    return NULL;
}
