/* The table of requests: which part of the agent answers which type. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "agent/reply.h"

/* data: the whole payload, layout checked; it is gone after the call. */
void agent_request_run(struct agent_reply *r, uint16_t type, const uint8_t *data, size_t len);
