/* Small file reads shared by the agent's parts. Bounded, never blocking on FIFOs. */
#pragma once
#include <stddef.h>

/* The whole file as a string the caller frees; "" when it is missing, unreadable, not a regular file or larger than
 * max. NULL only without memory. */
char *agent_file_text(const char *path, size_t max);
/* At most size - 1 bytes of a file of /proc, below dirfd; the length, or -errno. */
int agent_file_proc(int dirfd, const char *path, char *buf, size_t size);
