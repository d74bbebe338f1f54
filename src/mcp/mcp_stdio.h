/* MCP over two descriptors, one message on a line: what an agent starts as a child process. Untrusted: input. May
 * include: base/, loop/, mcp/. */
#pragma once
#include "loop/loop.h"
#include "mcp/mcp_backend.h"

/* Serves until the input ends (what is under way may finish, for a while) or the reader of the output is gone. Runs the
 * loop. The descriptors stay the caller's; they are made non-blocking. 0, or -errno. */
struct mcp_stdio_options {
    int in, out;
    const char *choice; /* of tools; NULL: all */
};
int mcp_stdio_run(struct loop *l, const struct mcp_backend *back, const struct mcp_stdio_options *o);
