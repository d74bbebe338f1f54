/* Builds of images, by `iii image build` and by the image tool for a server: what their files share. image_build.c
 * reads the Dockerfile and keeps the configuration; build_step.c runs one step that changes files in a sandbox, or
 * takes its layers from the cache. Private to image/. May include: base/, image/. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>

#include "base/err.h"
#include "base/json.h"
#include "image/image.h"

/* What a build asks of whoever runs it, when that is a server; arg comes first. */
struct image_build_hooks {
    /* Makes sure that the image is in the store and may be used. */
    int (*find)(void *arg, const char *name, struct err *err);
    /* Runs the command in a sandbox of the layers of now. *ret: the owner of a pin that holds these and one more,
     * caller frees; done() releases it. */
    int (*run)(void *arg, const struct image *now, const json_t *command, char *const *env, char **ret,
               struct err *err);
    void (*done)(void *arg);
    void (*tell)(void *arg, json_t *event); /* takes event: {type: step|cached|note, …} */
    int64_t (*left)(void *arg);             /* bytes that layers may still have; negative: none */
    void *arg;
};

struct image_build_options {
    const struct image_build_hooks *hooks; /* NULL: sandboxes of the server at url, progress on standard error */
    const char *tenant;                    /* owns the image and the cached steps; NULL: the operator */
    bool has_shared;                       /* FROM may name images of the operator */
    const char *target;                    /* the last stage to build, by name or number; NULL: the last one */
    const char *data_dir, *context, *dockerfile, *name,
        *url; /* dockerfile NULL: the context's, with hooks a path in it; url NULL: as in build_server_open() */
    char **build_args; /* "K=V", NULL-terminated or NULL */
    bool has_cache, has_network;
    const atomic_bool *stop; /* or NULL: the build ends soon after this becomes true */
};

/* Builds the image and reports progress. Blocks. ERR_INVALID messages name the Dockerfile's line.
 * | */
int image_build(struct image_store *s, const struct image_build_options *options, struct image **ret, struct err *err);
