/* Stands in for the agent of a container that cannot run it: takes the host's frames at the other end of a socket pair,
 * runs commands by the engine's exec, and says of everything else that it is not there. Slower, and without input: for
 * images of which nothing better can be had. Untrusted: what the engine answers and commands print. */
#pragma once
#include "base/err.h"
#include "runtime/docker/call.h"

struct docker_agentless;

/* ret_fd: the end for the host, the receiver's. container is copied. */
int docker_agentless_new(struct docker_call_set *calls, const char *container, struct docker_agentless **ret,
                         int *ret_fd, struct err *err);
struct docker_agentless *docker_agentless_free(struct docker_agentless *p);
