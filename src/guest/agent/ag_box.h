/* The box itself: host name, entropy and clock. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "guest/agent/ag_reply.h"

void ag_box_request(struct ag_reply *r, uint16_t type, const uint8_t *data, size_t len);
