/* An erofs with an empty root folder: the base drive of a VM that is only booted to see whether it boots. Needs no
 * program and no folder, so nothing is left when its maker is killed. May include: base/. */
#pragma once

#define MKEROFS_BYTES 8192u

/* Writes it to the empty file fd. 0 or -errno. */
int mkerofs_empty(int fd);
