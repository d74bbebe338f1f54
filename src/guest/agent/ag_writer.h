/* FS_PUT and FS_WRITE: a file is written beside its target and renamed into place, so a broken upload leaves the old
 * one. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "guest/agent/ag_reply.h"

void ag_writer_put(struct ag_reply *r, const uint8_t *data, size_t len);
void ag_writer_start(struct ag_reply *r, const uint8_t *data, size_t len);
