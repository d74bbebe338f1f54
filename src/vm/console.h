/* The last lines that a VM's console and its VMM wrote, sanitized for an error message. A hostile guest controls the
 * bytes and writes as fast as it can. May include: base/. */
#pragma once
#include <stddef.h>

#define VM_CONSOLE_MAX   4096
#define VM_CONSOLE_LINES 32

struct vm_console {
    char bytes[VM_CONSOLE_MAX];
    size_t n;
};

void vm_console_add(struct vm_console *w, const char *data, size_t n); /* drops the oldest bytes */
/* Printable ASCII and newlines, the last VM_CONSOLE_LINES lines. Caller frees. */
char *vm_console_text(const struct vm_console *w);
