/* SHA-256 as 64 lowercase hex digits, for the names of the files that guests are made from. May include: base/. */
#pragma once
#include <stddef.h>

#include "base/err.h"

#define VM_DIGEST_HEX 65 /* including the NUL */

struct vm_digest {
    void *state;
};

void vm_digest_init(struct vm_digest *s);
void vm_digest_add(struct vm_digest *s, const void *data, size_t len);
void vm_digest_text(struct vm_digest *s,
                    const char *text); /* includes the NUL, so that two strings never digest like their concatenation */
int vm_digest_file(struct vm_digest *s, int fd); /* from its start; 0 or -errno */
void vm_digest_end(struct vm_digest *s, char ret[VM_DIGEST_HEX]);
