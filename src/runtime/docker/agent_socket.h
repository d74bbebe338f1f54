/* The socket to which a container's agent connects: in a folder of the host with the agent program, which the
 * container sees read-only. We listen and the agent connects, so we never open anything that a container could have
 * put there, and any uid, user namespace or runtime works inside. The socket exists only while a connection is
 * expected. May include: base/, loop/, os/. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "loop/loop.h"

struct docker_agent_socket; /* the folder of all boxes */
struct docker_agent_socket_wait;

/* Makes FOLDER/docker with this binary's agent in it. */
int docker_agent_socket_new(struct loop *l, const char *folder, struct docker_agent_socket **ret, struct err *err);
struct docker_agent_socket *docker_agent_socket_free(struct docker_agent_socket *d);
const char *docker_agent_socket_tag(
    const struct docker_agent_socket *d); /* identifies this data folder's objects in the engine: 16 hex digits */

/* The folder of one box on the host, to be mounted. Caller frees. */
char *docker_agent_socket_folder(const struct docker_agent_socket *d, const char *box_id);
void docker_agent_socket_remove(struct docker_agent_socket *d, const char *box_id);
/* Calls fn for every box's folder. is_waiting: its socket exists, so a connection is (or, before a crash, was)
 * expected. */
void docker_agent_socket_each(struct docker_agent_socket *d, void (*fn)(void *arg, const char *box_id, bool is_waiting),
                              void *arg);
/* Removes the folders of all boxes for which is_kept returns false. */
void docker_agent_socket_sweep(struct docker_agent_socket *d, bool (*is_kept)(void *arg, const char *box_id),
                               void *arg);

struct docker_agent_socket_caller {
    int fd;         /* the receiver closes it */
    pid_t pid;      /* 0: not in our pid namespace */
    uint64_t since; /* start time, in clock ticks since boot; 0: not known */
};
typedef void docker_agent_socket_fn(void *arg, const struct docker_agent_socket_caller *caller);
/* Makes the folder and listens in it; fn is called at most once, with the first connection from the process `only`
 * (pid and since; any when its pid is 0). */
int docker_agent_socket_open(struct docker_agent_socket *d, const char *box_id,
                             const struct docker_agent_socket_caller *only, docker_agent_socket_fn *fn, void *arg,
                             struct docker_agent_socket_wait **ret, struct err *err);
struct docker_agent_socket_wait *docker_agent_socket_close(struct docker_agent_socket_wait *w);
