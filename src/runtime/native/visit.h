/* A visit: short work in a child of the launcher that joins a box's namespaces, so that the launcher itself never
 * leaves its own. Only the launcher process uses this. May include: base/, os/. */
#pragma once
#include "base/err.h"
#include "runtime/native/cell.h"

#define VISIT_FDS_MAX 2

/* Runs in the child; what it returns and err become visit_run()'s. It may send descriptors home with visit_send(). */
typedef int visit_fn(void *arg, struct err *err);

/* Waits for the child, at most VISIT_MS: the work is system calls on local objects. ret_fds (VISIT_FDS_MAX) gets what
 * was sent, the caller's; NULL when nothing is expected. */
int visit_run(visit_fn *fn, void *arg, int *ret_fds, struct err *err);
int visit_send(const int *fds, size_t n); /* in the child, once */

/* In the child: joins the box's namespaces (CLONE_NEW*). Without root its user namespace first, which gives the rights.
 */
int visit_join(const struct cell *c, int namespaces, struct err *err);
/* A namespace ("user", "net") of a living box: descriptor, or -errno. */
int visit_open(const struct cell *c, const char *kind, struct err *err);
