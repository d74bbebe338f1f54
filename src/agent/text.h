/* grep, sed and counted chmod over trees, each in a helper process, so that an expensive pattern holds up no other
 * stream. */
#pragma once
#include "agent/reply.h"

/* grep and sed. */
void agent_text_request(struct agent_reply *r, uint16_t type, const uint8_t *data, size_t len);
/* chmod and chown with a count. */
void agent_text_change(struct agent_reply *r, const uint8_t *data, size_t len);
