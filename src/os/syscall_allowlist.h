/* The narrowest filter there is, for a process of ours that does one small thing: nothing but a list of system calls,
 * all else answers EPERM (filter.h has the wide ones, for programs of others). May include: base/. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

/* From now on only these (SCMP_SYS numbers; those that this architecture does not have are left out) and what every
 * program needs to wait, to get memory and to end. may_read: files can be opened, for reading. 0 or -errno; -EINVAL and
 * -ENOSYS: the kernel has no filters. */
int syscall_allowlist_enter(const int *calls, size_t n, bool may_read);
