/* The box itself: host name, entropy and clock. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "agent/reply.h"

void agent_box_request(struct agent_reply *r, uint16_t type, const uint8_t *data, size_t len);
