/* Bounded reads of small files. They never block on FIFOs. */
#pragma once
#include <stddef.h>

/* The whole file as a string the caller frees; "" when it is missing, unreadable, not a regular file or larger than
 * max. NULL only when out of memory. */
char *agent_file_text(const char *path, size_t max);
/* At most size - 1 bytes of a file of /proc, below dirfd; the length, or -errno. */
int agent_file_proc(int dirfd, const char *path, char *buf, size_t size);
