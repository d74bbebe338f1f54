/* The box itself: host name, entropy and clock. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "agent/reply.h"

void agent_box_set_name(struct agent_reply *r, const uint8_t *data, size_t len);
/* Adds entropy, and sets the clock of a VM that was paused. */
void agent_box_reseed(struct agent_reply *r, const uint8_t *data, size_t len);
void agent_box_usage(struct agent_reply *r); /* of a VM */
