/* The place where a container's agent calls us: a folder of the host with the agent and a socket, which the container
 * sees read-only. We listen and the agent calls, so nothing is ever opened here that a container could have put there,
 * and any uid, user namespace or runtime inside will do. A socket stands only while a call is waited for.
 * May include: base/, loop/, os/. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "loop/loop.h"

struct docker_agent_socket; /* of all boxes */
struct docker_agent_socket_wait;

/* Makes FOLDER/docker with the agent of this binary in it. */
int docker_agent_socket_new(struct loop *l, const char *folder, struct docker_agent_socket **ret, struct err *err);
struct docker_agent_socket *docker_agent_socket_free(struct docker_agent_socket *d);
const char *
docker_agent_socket_tag(const struct docker_agent_socket *d); /* what marks this data folder's things: 16 hex digits */

/* The folder of one box on the host, to be mounted. Caller frees. */
char *docker_agent_socket_folder(const struct docker_agent_socket *d, const char *box_id);
void docker_agent_socket_remove(struct docker_agent_socket *d, const char *box_id);
/* Tells of every folder of a box. is_waiting: a call is, or was by whoever died, waited for. */
void docker_agent_socket_each(struct docker_agent_socket *d, void (*fn)(void *arg, const char *box_id, bool is_waiting),
                              void *arg);
/* Removes the folders of all boxes for which is_kept says no. */
void docker_agent_socket_sweep(struct docker_agent_socket *d, bool (*is_kept)(void *arg, const char *box_id),
                               void *arg);

struct docker_agent_socket_caller {
    int fd;         /* the receiver's */
    pid_t pid;      /* 0: not in our process namespace */
    uint64_t since; /* when it began, clock ticks since boot; 0: not known */
};
typedef void docker_agent_socket_fn(void *arg, const struct docker_agent_socket_caller *caller);
/* Makes the folder and listens in it; fn comes at most once, with the first caller that is `only` (pid and since, or
 * any when its pid is 0). */
int docker_agent_socket_open(struct docker_agent_socket *d, const char *box_id,
                             const struct docker_agent_socket_caller *only, docker_agent_socket_fn *fn, void *arg,
                             struct docker_agent_socket_wait **ret, struct err *err);
struct docker_agent_socket_wait *docker_agent_socket_close(struct docker_agent_socket_wait *w);
