/* FS_PUT, FS_WRITE and FS_STORE: a file is written beside its target and renamed into place, so a broken upload leaves
 * the old one. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "agent/reply.h"

void agent_file_writer_put(struct agent_reply *r, const uint8_t *data, size_t len);
void agent_file_writer_start(struct agent_reply *r, const uint8_t *data, size_t len);
void agent_file_writer_store(struct agent_reply *r, const uint8_t *data, size_t len);
