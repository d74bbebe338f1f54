/* The known name that an unknown one is most like: a typing error, another spelling (memory_mb, memoryMb), a part of
 * it. struct nearest n = { .name = "memroy" }; nearest_offer(&n, "memory"); …each known name… n.found is "memory", or
 * "" when none is near. May include: base/. */
#pragma once
#include <stddef.h>

#define NEAREST_MAX 64 /* of a known name, with its NUL */

struct nearest {
    const char *name;
    char found[NEAREST_MAX];
    size_t score; /* of found: smaller is nearer */
};

void nearest_offer(struct nearest *n, const char *known);
