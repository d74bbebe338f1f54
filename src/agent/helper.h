/* What every helper process of the agent needs: only its own descriptors, and an end. */
#pragma once
#include <sys/types.h>

/* In the child: keeps only two descriptors, as 3 and 4: a copy of another one would hold up who waits for its end, such
 * as a command that reads its input. 0 or -errno. */
int agent_helper_keep_only(const int fds[2]);
/* In the agent: kills a child that was not reaped yet. */
void agent_helper_kill(pid_t pid);
