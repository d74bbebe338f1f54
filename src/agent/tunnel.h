/* Tunnels: a TCP connection or UDP socket to a port inside the sandbox, as a stream with a window in each direction. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "agent/reply.h"

void agent_tunnel_start(struct agent_reply *r, uint16_t type, const uint8_t *data, size_t len);
