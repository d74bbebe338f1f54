/* Whole folders: removing one however deep and hostile it is, copying one as it is. Both block: run them in a child
 * process or on a worker. Neither follows a link or leaves the folder. May include: base/. */
#pragma once
#include <stdint.h>

#include "base/err.h"

#define TREE_DEPTH_MAX 256 /* of a copy; removal has no limit */

/* Removes dir_fd/name with everything in it. Gone already is 0. Uses two descriptors whatever the depth. */
int tree_remove(int dir_fd, const char *name, struct err *err);

/* Copies folder from_dir/from to to_dir/to (which must not exist): owners, modes, times, extended attributes, hard
 * links, links, device numbers (overlay whiteouts), holes; data by reflink where the file system can. ret_bytes: what
 * the files hold. On failure what was made is left for tree_remove(). */
int tree_copy(int from_dir, const char *from, int to_dir, const char *to, int64_t *ret_bytes, struct err *err);

/* Says that folders in this one have nothing to do with each other, so that ext4 puts them far apart. Together, making
 * one means stepping over every file that was deleted near it within the last minute, which is most of the time a
 * create takes on a server that kills sandboxes as fast. Other file systems know no such thing: nothing happens. */
void tree_spread(int dir_fd);
