/* Kills a command with everything it started: its session and all descendants, found through /proc. A process that
 * made a new session and was orphaned before we look cannot be recognized any more; it ends with the box. */
#pragma once
#include <sys/types.h>

/* root: a child that we have not reaped, or (is_reaped) one whose session may still exist. Never signals us. */
void agent_process_tree_kill(pid_t root, int is_reaped);
