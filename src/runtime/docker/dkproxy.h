/* Stands in for the agent of a container that cannot run it: takes the host's frames at the other end of a socket pair,
 * runs commands by the engine's exec, and says of everything else that it is not there. Slower, and without input: for
 * images of which nothing better can be had. Untrusted: what the engine answers and commands print. */
#pragma once
#include "base/err.h"
#include "runtime/docker/dkcall.h"

struct dkproxy;

/* ret_fd: the end for the host, the receiver's. container is copied. */
int dkproxy_new(struct dkcall_set *calls, const char *container, struct dkproxy **ret, int *ret_fd, struct err *err);
struct dkproxy *dkproxy_free(struct dkproxy *p);
