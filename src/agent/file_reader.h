/* FS_READ and FS_OPEN: a regular file as a stream of data within the host's window. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "agent/reply.h"

void agent_file_reader_start(struct agent_reply *r, const uint8_t *data, size_t len);
void agent_file_reader_open(struct agent_reply *r, const uint8_t *data, size_t len);
