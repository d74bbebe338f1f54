/* A visit: short work in a child that joins other namespaces, so that the process itself never leaves its own. Only
 * privileged processes of one thread use this: the launcher, the vm tool. May include: base/, os/. */
#pragma once
#include <stddef.h>

#include "base/err.h"

#define VISIT_FDS_MAX 2

/* Runs in the child; what it returns and err become visit_run()'s. It may send descriptors home with visit_send(). */
typedef int visit_fn(void *arg, struct err *err);

/* Waits for the child, at most VISIT_MS: the work is system calls on local objects. ret_fds (VISIT_FDS_MAX) gets what
 * was sent, the caller's; NULL when nothing is expected. */
int visit_run(visit_fn *fn, void *arg, int *ret_fds, struct err *err);
int visit_send(const int *fds, size_t n); /* in the child, once */
