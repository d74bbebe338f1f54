/* The in-box stage: the agent's start inside a native box, from "all namespaces made" to "root file system in place, no
 * privilege left". It talks only to the launcher, over the SEQPACKET socket it was started with. May include:
 * os/stage_plan.h.
 *
 * Invariants:
 * 1. No workload runs before stage_run() has returned 0. Then the host's mounts are gone, the capability bounding set
 *    is what SECURITY.md lists, no_new_privs is set, the seccomp filter is installed, and only the descriptors 0 to 2
 *    (all /dev/null) and those that it returns are open.
 * 2. An end of file on the control socket before a plan means that the launcher is gone: the stage exits. */
#pragma once

#define STAGE_DIR_MAX 1024

struct stage_result {
    int conn_fd;                         /* connected stream to the daemon: the first link; close-on-exec */
    int listen_fd;                       /* listening unix socket for later links; close-on-exec */
    int sockets_fd;                      /* agent_listening_socket(); close-on-exec; negative: none */
    int denied_fd;                       /* pipe with struct denied_call; close-on-exec; -EBADF: none */
    char default_workdir[STAGE_DIR_MAX]; /* absolute; exists */
};

/* ptys: pseudo-terminals of the box. Blocks until the launcher has sent the plan and everything is in place and
 * reported. Returns -errno when the box cannot be made (the launcher knows the reason): the caller exits. Does not
 * return when the prepared box is not needed. */
int stage_run(int control_fd, int ptys, struct stage_result *ret);
