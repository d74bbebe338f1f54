/* `iii image build`: what its two files share. image_build.c reads the Dockerfile and keeps the configuration;
 * build_step.c runs one step that changes files in a sandbox, or takes its layers from the cache. Private to image/.
 * May include: base/, image/. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>

#include "base/err.h"
#include "base/json.h"
#include "image/image.h"

struct image_build_options {
    const char *data_dir, *context, *dockerfile, *name,
        *url;          /* dockerfile NULL: the context's; url NULL: as in build_server_open() */
    char **build_args; /* "K=V", NULL-terminated or NULL */
    bool has_cache, has_network;
    const atomic_bool *stop; /* or NULL: the build ends soon after this becomes true */
};

/* Builds the image and reports progress on standard error. Blocks. ERR_INVALID messages name the Dockerfile's line.
 * | */
int image_build(struct image_store *s, const struct image_build_options *options, struct image **ret, struct err *err);
