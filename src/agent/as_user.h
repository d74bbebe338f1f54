/* File access with the rights of another user, for the calls between enter and leave: the kernel's file system user and
 * groups, which open, rename and mkdir check. Root's capabilities over files are without effect in between. Single
 * threaded, so nothing else of the agent runs meanwhile. */
#pragma once
#include <stdbool.h>

#include "agent/spawn.h"

/* text: "" for root, else as agent_spawn_user() takes it; the same errors. */
int agent_as_user_read(const char *text, struct agent_spawn_user *ret);
/* 0, or -errno: nothing has changed then. */
int agent_as_user_enter(const struct agent_spawn_user *u);
void agent_as_user_leave(const struct agent_spawn_user *u);
/* For good, in a helper process. 0 or -errno. */
int agent_as_user_become(const struct agent_spawn_user *u);
