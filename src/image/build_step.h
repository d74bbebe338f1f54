/* One step of a build that changes files. A command runs in a sandbox made from the layers so far, whose files become
 * one more layer; files are copied into a new layer; or, when the cache has the same step, its layer is reused. Private
 * to image/. May include: base/, image/. */
#pragma once
#include "base/err.h"
#include "image/build_copy.h"
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

/* Each replaces place->now's layers; ret_is_cached: the cache had the step. */
int build_step_run(struct build_step_place *place, const json_t *command, char **env, bool *ret_is_cached,
                   struct err *err); /* command: as the REST API takes it; env: for this command only */
/* A folder that is there already adds no layer. */
int build_step_mkdir(struct build_step_place *place, const char *path, bool *ret_is_cached, struct err *err);
int build_step_copy(struct build_step_place *place, const struct build_copy *copy, bool *ret_is_cached,
                    struct err *err);
/* Resolves path against the working folder unless it is absolute, without "." and ".."; caller frees. */
char *build_step_path(const struct image *now, const char *path);
