/* An erofs with nothing in it but its root folder: the base drive of a machine that is only to show that it boots. No
 * program and no folder are needed for it, so nothing is left when whoever makes it is killed. May include: base/. */
#pragma once

#define MKEROFS_BYTES 8192u

/* Writes it to fd, which is empty. 0 or -errno. */
int mkerofs_empty(int fd);
