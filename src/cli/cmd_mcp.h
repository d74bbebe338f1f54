/* `iii mcp`: an MCP server on standard input and output. May include: cli/, mcp/. */
#pragma once
#include "cli/verbs.h"

int cmd_mcp_run(const struct verbs_args *a);
