/* Which TCP ports of the sandbox listen, told to the host when they change. The kernel announces no listen(), so we
 * look, after pauses that grow from FIRST_MS to LONGEST_MS while processes run, and start again from the shortest one
 * when something happens; in a sandbox without processes nothing is looked at
 * (docs/decisions/027-ports-that-listen.md). */
#pragma once
#include "agent/conn.h"

int agent_listening_socket(void); /* the kernel's list of sockets, for agent_listening_start(); or -errno */
/* Takes fd. -EBADF: there is none, /proc has to do. */
void agent_listening_start(struct agent *a, int fd);
void agent_listening_end(struct agent *a);
void agent_listening_stir(struct agent *a);                       /* a process was started */
void agent_listening_reaped(struct agent *a, bool is_last);       /* one has exited; is_last: no other is left */
void agent_listening_tell(struct agent *a, struct agent_conn *c); /* a host has connected */
