/* The last words of a machine: what its console and its monitor said, made fit for an error. They are whatever a
 * hostile guest writes, as fast as it can. May include: base/. */
#pragma once
#include <stddef.h>

#define VM_CONSOLE_MAX   4096
#define VM_CONSOLE_LINES 32

struct vm_console {
    char bytes[VM_CONSOLE_MAX];
    size_t n;
};

void vm_console_add(struct vm_console *w, const char *data, size_t n); /* the oldest go */
/* Printable ASCII and newlines, the last VM_CONSOLE_LINES lines. Caller frees. */
char *vm_console_text(const struct vm_console *w);
