/* COPY and ADD of a build: files of the context, of another stage or of the Dockerfile itself become a layer, without
 * anything being run. May include: base/, image/. */
#pragma once
#include <stdbool.h>

#include "base/digest.h"
#include "base/err.h"
#include "image/build_context.h"
#include "image/dockerfile.h"
#include "image/image.h"
#include "image/layer_view.h"

#define BUILD_COPY_ENTRIES_MAX 100000 /* files of one instruction */
#define BUILD_COPY_DEPTH_MAX   64

struct build_copy {
    const struct layer_view *from;             /* where the sources are */
    const struct build_context_ignore *ignore; /* of the context; else NULL */
    const char *where;                         /* what from is, for errors: "the context" */
    char *const *sources;                      /* NULL-terminated; "<<NAME" is the next of texts */
    char *const *texts;                        /* NULL-terminated or NULL */
    const char *to;                            /* where they go: absolute, ending in / when it is a folder */
    const struct image *base;                  /* what they go into */
};
/* Adds all that the result depends on to d. ERR_NOT_FOUND: a source. */
int build_copy_digest(const struct build_copy *c, struct digest *d, struct err *err);
/* Writes them into the empty folder root_fd as a layer above c->base. is_rootless: all files are ours. */
int build_copy_write(const struct build_copy *c, int root_fd, bool is_rootless, struct err *err);
/* Makes the folder path, absolute, in the same way. 1: it is there already. */
int build_copy_mkdir(const struct image *base, const char *path, int root_fd, bool is_rootless, struct err *err);
