/* Whole folders: removing one, whatever its depth and contents, and copying one exactly. Both block: run them in a
 * child process or on a worker. Neither follows a link or leaves the folder. May include: base/. */
#pragma once
#include <stdint.h>

#include "base/err.h"

#define TREE_DEPTH_MAX 256 /* of a copy; removal has no limit */

/* Removes dir_fd/name with everything in it. Already gone is 0. Uses two descriptors whatever the depth. */
int tree_remove(int dir_fd, const char *name, struct err *err);

/* Copies folder from_dir/from to to_dir/to (which must not exist): owners, modes, times, extended attributes, hard
 * links, symlinks, device numbers (overlay whiteouts), sparse ranges; data by reflink where the file system can.
 * ret_bytes: size of the files. On failure the partial copy is left for tree_remove(). */
int tree_copy(int from_dir, const char *from, int to_dir, const char *to, int64_t *ret_bytes, struct err *err);

/* Tells ext4 that folders in this one are unrelated, so that it places them far apart. Otherwise, making one means
 * skipping every inode that was deleted nearby within the last minute, which is most of the time of a create on a
 * server that kills sandboxes as fast. Has no effect on other file systems. */
void tree_spread(int dir_fd);
