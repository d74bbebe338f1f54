/* `iii mcp`: an MCP server on standard input and output. May include: cli/, mcp/. */
#pragma once
#include "cli/verbs.h"

int mcpcmd_run(const struct verbs_args *a);
