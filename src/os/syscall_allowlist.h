/* The narrowest filter, for our own processes with one small task: allows only a list of system calls, everything
 * else returns EPERM (filter.h has the wide filters, for untrusted programs). May include: base/. */
#pragma once
#include <stdbool.h>

/* From now on allows only these, by name and ended by NULL (those that this architecture lacks are skipped), and what
 * every program needs to wait, to allocate memory and to exit. may_read: files can be opened for reading. 0 or -errno;
 * -EINVAL and -ENOSYS: the kernel has no filters; -ENOENT: libseccomp does not know a name. */
int syscall_allowlist_enter(const char *const *calls, bool may_read);
