/* One step of a build that changes files: in a sandbox of its own, made from the layers so far, whose files then become
 * one more layer; or, when the same was done before, the layer from then. Private to image/. May include: base/,
 * image/. */
#pragma once
#include "base/err.h"
#include "image/build_context.h"
#include "image/build_server.h"
#include "image/image.h"
#include "image/image_build.h"

struct build_step_place {
    struct image_store *store;
    const struct image_build_options *options;
    struct build_server server; /* opened by the first step that is not in the cache */
    bool has_server;
    struct build_context context;
    struct image *now; /* layers and configuration so far */
};

/* Each replaces place->now's layers; ret_is_cached: nothing had to be done. */
int build_step_run(struct build_step_place *place, const json_t *command, char **env, bool *ret_is_cached,
                   struct err *err); /* command: as the REST API takes it; env: of it alone */
int build_step_mkdir(struct build_step_place *place, const char *path, bool *ret_is_cached, struct err *err);
/* words: sources, then the destination. */
int build_step_copy(struct build_step_place *place, char *const *words, bool *ret_is_cached, struct err *err);
/* path below the working folder unless it is absolute, without "." and ".."; caller frees. */
char *build_step_path(const struct image *now, const char *path);
