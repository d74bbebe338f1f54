/* The last words of a machine: what its console and its monitor said, made fit for an error. They are whatever a
 * hostile guest writes, as fast as it can. May include: base/. */
#pragma once
#include <stddef.h>

#define VMWORDS_MAX   4096
#define VMWORDS_LINES 32

struct vmwords {
    char bytes[VMWORDS_MAX];
    size_t n;
};

void vmwords_add(struct vmwords *w, const char *data, size_t n); /* the oldest go */
/* Printable ASCII and newlines, the last VMWORDS_LINES lines. Caller frees. */
char *vmwords_text(const struct vmwords *w);
