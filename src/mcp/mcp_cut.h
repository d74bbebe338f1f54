/* Keeps a tool's result short enough for a conversation, and says in it what was left out. Pure functions. May include:
 * base/. */
#pragma once
#include <stdbool.h>

#include "base/buf.h"
#include "base/json.h"

/* Cuts the middle out of a text over LIMIT_MAX(MCP_RESULT_BYTES), at character boundaries; a line in its place says how
 * much is missing and how to get it. true: it was cut. */
bool mcp_cut_text(struct buf *text);
/* A copy of a value whose texts are cut as above and whose arrays keep as many of their first entries as fit. Caller
 * owns. */
json_t *mcp_cut_copy(const json_t *value);
