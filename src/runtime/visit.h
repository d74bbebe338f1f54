/* A visit: short work in a child that joins other namespaces, so that the process itself never leaves its own. Only
 * privileged single-threaded processes use this: the launcher, the VM tool. May include: base/, os/. */
#pragma once
#include <stddef.h>

#include "base/err.h"

#define VISIT_FDS_MAX 2

/* Runs in the child; visit_run() returns its result and err. It may send descriptors to the parent with
 * visit_send(). */
typedef int visit_fn(void *arg, struct err *err);

/* Waits for the child, at most VISIT_MS: the work is system calls on local objects. ret_fds (VISIT_FDS_MAX) gets the
 * sent descriptors, which the caller closes; NULL when none is expected. */
int visit_run(visit_fn *fn, void *arg, int *ret_fds, struct err *err);
int visit_send(const int *fds, size_t n); /* in the child, once */
