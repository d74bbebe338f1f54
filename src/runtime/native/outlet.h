/* The way out of a box with network: all TCP that leaves it, and all DNS, is turned inside its own network namespace to
 * sockets that the daemon holds. No packet ever leaves the box, so there is nothing to filter on the host. Only the
 * launcher process uses this. May include: base/, os/. */
#pragma once
#include "runtime/native/cell.h"
#include "runtime/native/visit.h"

/* ret_fds: { listening TCP, UDP for DNS }, both non-blocking. Done again (after a restart) it replaces the former way.
 */
int outlet_open(struct cell *c, int ret_fds[VISIT_FDS_MAX], struct err *err);
