/* Processes of the sandbox, from /proc: list, kill. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "agent/reply.h"

void agent_proc_list(struct agent_reply *r);
void agent_proc_kill(struct agent_reply *r, const uint8_t *data, size_t len);
