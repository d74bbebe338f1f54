/* FS_PACK and FS_UNPACK: a folder as a tar archive, out and in. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "agent/reply.h"

void agent_tree_stream_pack(struct agent_reply *r, const uint8_t *data, size_t len);
void agent_tree_stream_unpack(struct agent_reply *r, const uint8_t *data, size_t len);
