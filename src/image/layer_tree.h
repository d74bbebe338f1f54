/* Folder trees by descriptor: no function here follows a symbolic link or resolves a name twice. May include: base/. */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* Removes a file, link or folder with all below it, however deep; absent is fine. 0 or -errno. */
int layer_tree_remove_at(int dir_fd, const char *name);
/* Bytes of the regular files below it, a file with several names counted once per name; 0 when it cannot be read. */
int64_t layer_tree_size_at(int dir_fd, const char *name);
/* The names in a folder, sorted by bytes, n of them; free each and the list. 0 or -errno. */
int layer_tree_names(int dir_fd, char ***ret, size_t *ret_n);
