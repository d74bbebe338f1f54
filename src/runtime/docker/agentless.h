/* Stands in for the agent of a container that cannot run it: takes the host's frames at the other end of a socket
 * pair, runs commands by the engine's exec, and answers everything else as unsupported. Slower, and without input:
 * for images that allow nothing better. Untrusted: what the engine answers and commands print. */
#pragma once
#include "base/err.h"
#include "runtime/docker/call.h"

struct docker_agentless;

/* ret_fd: the host's end, which the receiver closes. container is copied. */
int docker_agentless_new(struct docker_call_set *calls, const char *container, struct docker_agentless **ret,
                         int *ret_fd, struct err *err);
struct docker_agentless *docker_agentless_free(struct docker_agentless *p);
