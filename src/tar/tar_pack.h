/* A folder as a tar archive, in constant memory. Blocks. May include: nothing. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TAR_WHY_MAX 320

/* Takes bytes; 0, or -errno, which ends the archive. */
typedef int tar_sink_fn(void *arg, const void *data, size_t len);

struct tar_packed {
    uint64_t entries, bytes; /* bytes: of the files' contents */
    char why[TAR_WHY_MAX];   /* on failure: the step and the path */
};

struct tar_pack_plan {
    int fd;           /* stays the caller's */
    const char *name; /* of the entry, when fd is a file */
    bool is_plain;    /* no hard links: a file with several names is stored once for each */
    tar_sink_fn *sink;
    void *arg;
    /* Whether an entry, and what is below it, is left out; path: "a/b". NULL: nothing is. */
    bool (*is_out)(void *arg, const char *path, bool is_folder);
};

/* fd: an open folder, or a regular file, which becomes an archive of that one under its name. The folder's own entry is
 * "./", and names are relative to it. 0, or -errno with ret->why. */
int tar_pack(const struct tar_pack_plan *plan, struct tar_packed *ret);
