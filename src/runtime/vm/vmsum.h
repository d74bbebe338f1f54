/* SHA-256 as 64 lowercase hex digits, for the names of what guests are made from. May include: base/. */
#pragma once
#include <stddef.h>

#include "base/err.h"

#define VMSUM_HEX 65 /* with its NUL */

struct vmsum {
    void *state;
};

void vmsum_init(struct vmsum *s);
void vmsum_add(struct vmsum *s, const void *data, size_t len);
void vmsum_text(struct vmsum *s, const char *text); /* with its NUL, so that two texts are not one */
int vmsum_file(struct vmsum *s, int fd);            /* from its beginning; 0 or -errno */
void vmsum_end(struct vmsum *s, char ret[VMSUM_HEX]);
