/* The table of requests: which module answers which type. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "agent/reply.h"

/* data: the complete payload, layout checked; invalid after the call. */
void agent_request_run(struct agent_reply *r, uint16_t type, const uint8_t *data, size_t len);
