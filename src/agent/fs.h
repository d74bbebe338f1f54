/* File requests with a single reply: stat, list, search, move, mkdir, remove, chmod. Paths are absolute in the
 * sandbox's own root; tree walks run in a helper process. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "agent/reply.h"

void agent_fs_stat(struct agent_reply *r, const uint8_t *data, size_t len);
void agent_fs_request(struct agent_reply *r, uint16_t type, const uint8_t *data, size_t len);
/* mkdir -p of the parents of path, which is restored before the return. 0 or -errno. *ret_first (may be NULL): length
 * of the first one that was made in path, 0 when none was, also on failure. */
int agent_fs_make_parents(char *path, uint32_t mode, size_t *ret_first);
