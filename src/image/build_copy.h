/* COPY and ADD of a build: files of the context, of another stage, of the Dockerfile itself or (ADD) of an address or
 * an archive become a layer, without anything being run. May include: base/, image/. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>

#include "base/digest.h"
#include "base/err.h"
#include "image/build_attrs.h"
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
    struct build_attrs attrs;                  /* what they get */
    struct image_store *store; /* its limits bound what is written; a file with several names counts once */
    const atomic_bool *stop;   /* or NULL: it ends soon after this becomes true */
    int scratch_fd; /* ADD: a folder with the files of addresses, each named by build_copy_download(); else NO_FD */
};
/* The name in scratch_fd of the source of this number. */
void build_copy_download(size_t source, char ret[32]);
/* Adds all that the result depends on to d. ERR_NOT_FOUND: a source. */
int build_copy_digest(const struct build_copy *c, struct digest *d, struct err *err);
/* Writes them into the empty folder root_fd as a layer above c->base. is_rootless: all files are ours. */
int build_copy_write(const struct build_copy *c, int root_fd, bool is_rootless, struct err *err);
/* Makes the folder path, absolute, in the same way. 1: it is there already. */
int build_copy_mkdir(const struct image *base, const char *path, int root_fd, bool is_rootless, struct err *err);
