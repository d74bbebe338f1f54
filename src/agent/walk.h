/* Changes and copies of whole trees. Every step goes by descriptor and never follows a symlink below the given path,
 * so a tree that changes meanwhile cannot redirect the walk. Depth is bounded (AGENT_WALK_DEPTH). */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "guest/proto_mode.h"

#define AGENT_WALK_DEPTH 256

int agent_walk_remove(const char *path, bool is_recursive);

struct agent_walk_change {
    const struct proto_mode *mode; /* NULL: keep */
    bool has_owner;
    uint32_t uid, gid; /* UINT32_MAX: keep */
};
int agent_walk_change(const char *path, const struct agent_walk_change *change, bool is_recursive);

/* Copies from to a path that does not exist: files, directories, symlinks, FIFOs; modes, owners and times. */
int agent_walk_copy(const char *from, const char *to);
