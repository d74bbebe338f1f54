/* A folder as several layers show it together, the way overlayfs does: the highest entry of a name counts, a whiteout
 * hides what is below it, an opaque folder what is below the folder. For reading. May include: base/, image/. */
#pragma once
#include <stddef.h>
#include <sys/stat.h>

#include "base/buf.h"

#define LAYER_VIEW_LINKS 40 /* links followed for one path */

struct layer_view {
    int *fds; /* this folder in each layer that has it, highest first */
    size_t n;
};
/* layers: folders, lowest first. 0 or -errno. */
int layer_view_open(char *const *layers, size_t n, struct layer_view *ret);
void layer_view_done(struct layer_view *v); /* for CLEANUP() too */

/* One name in it, not followed. ret_dir: the folder that has it, borrowed from v. -ENOENT. */
int layer_view_look(const struct layer_view *v, const char *name, struct stat *ret, int *ret_dir);
/* A folder in it; path: "" or "a/b", without links. -ENOENT, -ENOTDIR. */
int layer_view_enter(const struct layer_view *v, const char *path, struct layer_view *ret);
/* The names in it, sorted; strlist_free(*ret). 0 or -errno. */
int layer_view_names(const struct layer_view *v, char ***ret);
/* A path of the whole view with every link followed inside it: "a/b", "" for the view itself. What does not exist stays
 * as it is. *ret: caller frees. -ELOOP. */
int layer_view_resolve(const struct layer_view *v, const char *path, char **ret);
/* Adds the content of a file, whose links are followed inside the view. -EINVAL: it is not a regular file; -E2BIG: out
 * is full. */
int layer_view_read(const struct layer_view *v, const char *path, struct buf *out);
