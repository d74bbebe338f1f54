/* FS_READ: a regular file as a stream of data within the host's window. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "guest/agent/ag_reply.h"

void ag_reader_start(struct ag_reply *r, const uint8_t *data, size_t len);
