/* Ends a command with everything it started: its session and all descendants, found through /proc.
 * What made itself a new session and was orphaned before we look cannot be told apart any more; it ends with the box.
 */
#pragma once
#include <sys/types.h>

/* root: a child of ours that we have not reaped, or (is_reaped) one whose session may live on. Never touches us. */
void agent_process_tree_kill(pid_t root, int is_reaped);
