/* Denied system calls of the box: lines from the process outside that answers them, passed on to the hosts. They stay
 * in the pipe while no host wants them. May include: agent/conn.h, os/denied_call.h. */
#pragma once
#include "agent/conn.h"

void agent_denied_start(struct agent *a, int fd); /* takes the pipe; -EBADF: none */
void agent_denied_tell(struct agent *a);          /* a host has connected */
