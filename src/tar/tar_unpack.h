/* A tar archive, untrusted, into a folder. Blocks. May include: nothing. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tar/tar_pack.h"

/* Gives bytes: at most len, 0 at the end, -errno. */
typedef ssize_t tar_source_fn(void *arg, void *data, size_t len);

struct tar_unpack_plan {
    int folder;                /* opened; stays the caller's */
    bool is_folder_old;        /* it was there before: the archive's "./" does not change its mode and time */
    bool has_inner_links_only; /* symbolic links that lead out of the folder are not made, but counted */
    tar_source_fn *source;
    void *arg;
    void (*on_skip)(void *arg, const char *path, const char *target); /* such a link; may be NULL */
};

struct tar_unpacked {
    uint64_t entries, bytes, skipped; /* bytes: of the files' contents */
    char why[TAR_WHY_MAX];            /* on failure: the step and the entry */
};

/* Existing files are replaced, folders are merged. 0, or -errno with ret->why: -EINVAL the archive is malformed or has
 * what cannot be unpacked. What came before the failure stays; the file that was being written is removed. */
int tar_unpack(const struct tar_unpack_plan *plan, struct tar_unpacked *ret);
