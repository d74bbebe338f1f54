/* Processes of the sandbox, from /proc: list, kill, interrupt, end of all. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "agent/reply.h"

void agent_proc_request(struct agent_reply *r, uint16_t type, const uint8_t *data, size_t len);
void agent_proc_ended(struct agent *a); /* no child is left */
