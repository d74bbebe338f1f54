/* The folder a build copies from: its files without those that .dockerignore excludes, and which of them a COPY
 * selects. Symbolic links are copied as links, never followed. May include: base/, image/. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/err.h"

#define BUILD_CONTEXT_ENTRIES_MAX 100000
#define BUILD_CONTEXT_DEPTH_MAX   64
#define BUILD_CONTEXT_IGNORE_MAX  65536 /* bytes of .dockerignore */

struct build_context_entry {
    char *path; /* "a/b", below the folder */
    mode_t mode;
    int64_t size;
};

struct build_context {
    int fd;
    struct build_context_entry *entries; /* regular files, folders and symbolic links, sorted by path */
    size_t n_entries;
};

int build_context_open(const char *dir, struct build_context *ret, struct err *err);
void build_context_done(struct build_context *c); /* for CLEANUP() too */

/* Whether .dockerignore's text excludes the path: the last pattern that matches it or a folder above it decides. */
bool build_context_is_ignored(const char *patterns, const char *path);

/* One file to copy: from is an entry, to its name below the destination ("" for the destination itself). */
struct build_context_copy {
    const struct build_context_entry *from;
    const char *to; /* borrowed from the entry's path */
};
/* Entries that a COPY's source selects: for a folder everything below it, for a file that file. A pattern may select
 * several. ERR_NOT_FOUND. free(*ret). ret_is_file: the source is exactly one file or link, by its own name. */
int build_context_select(const struct build_context *c, const char *source, struct build_context_copy **ret,
                         size_t *ret_n, bool *ret_is_file, struct err *err);
/* Adds names, modes and content to d. */
int build_context_digest(const struct build_context *c, const struct build_context_copy *list, size_t n,
                         struct digest *d, struct err *err);
int build_context_open_file(const struct build_context *c, const struct build_context_entry *e,
                            struct err *err); /* returns a descriptor */
/* The target of a link; caller frees; NULL with err. */
char *build_context_link(const struct build_context *c, const struct build_context_entry *e, struct err *err);
