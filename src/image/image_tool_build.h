/* A build that the image tool does for a server. The context comes through a descriptor; everything that is not work on
 * the store is asked of the server, over a SEQPACKET socket of the call's own. May include: base/, image/. */
#pragma once
#include <stdatomic.h>

#include "base/err.h"
#include "base/json.h"
#include "image/image.h"

struct image_tool_build {
    struct image_store *store;
    const json_t *request; /* {name, tenant, hasShared, dockerfile, target, args, hasCache, hasNetwork, left} */
    int context_fd;        /* an archive: tar, plain, gzip or zstd. Untrusted */
    int talk_fd;           /* see image_build_begin() */
    const atomic_bool *stop;
};

int image_tool_build(const struct image_tool_build *b, struct err *err);
