/* FS_WATCH: changes of files below a folder, as they occur. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "agent/reply.h"

void agent_file_watch_start(struct agent_reply *r, const uint8_t *data, size_t len);
