/* grep, sed and counted chmod over trees, each in a helper process: what a pattern costs holds up nobody. */
#pragma once
#include "agent/reply.h"

void agent_text_request(struct agent_reply *r, uint16_t type, const uint8_t *data, size_t len);
