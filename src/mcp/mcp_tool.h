/* The tools as rows over the operation table: what clients see of them, and how their arguments become parameters of an
 * operation. Untrusted: arguments. May include: base/, spec/. Invariants: (1) every argument is a field of its
 * operation, with the field's type and limits; (2) what mcp_tool_params() lets pass has passed spec_check(). */
#pragma once
#include "base/err.h"
#include "base/json.h"
#include "spec/spec.h"

enum mcp_tool_form {
    MCP_TOOL_JSON,
    MCP_TOOL_TEXT,
    MCP_TOOL_SAY,
    MCP_TOOL_EXEC,
    MCP_TOOL_CODE,
    MCP_TOOL_ENV,
    MCP_TOOL_LINES,
    MCP_TOOL_CONTEXT,
    MCP_TOOL_BYTES,
};
enum mcp_tool_hint {
    MCP_TOOL_DESTROYS = 1, /* may change or remove what is there, not only add */
    MCP_TOOL_REPEATS = 2,  /* a second time changes nothing more */
    MCP_TOOL_OPEN = 4,     /* may reach the world outside */
    MCP_TOOL_CORE = 8,     /* one of the few that most agents need: the choice "core" */
};
struct mcp_tool {
    const char *name, *title;
    enum op_id op;
    const char *args;
    enum mcp_tool_form form;
    const char *detail;
    unsigned hints;
    const char *help;
};
extern const struct mcp_tool mcp_tool_rows[]; /* ended by name NULL */

const struct mcp_tool *mcp_tool_find(const char *name); /* NULL when unknown */
/* Whether a choice of tools has this one: a comma list of names, each with or without "sandbox_", with * at the end for
 * all that begin so, and of sets: core, contract, all. NULL or "": contract. */
bool mcp_tool_is_chosen(const struct mcp_tool *t, const char *choice);
/* How much a description says. Every byte of it is part of every conversation. */
enum mcp_tool_detail {
    MCP_TOOL_LEAN,  /* name, description, input schema: for the choice "core" */
    MCP_TOOL_PLAIN, /* and titles, all hints, defaults and ranges of arguments */
    MCP_TOOL_FULL,  /* and the schema of results, which clients of 2025-06-18 and later know */
};
bool mcp_tool_is_lean(const char *choice);
/* One entry of tools/list. Caller owns. */
json_t *mcp_tool_describe(const struct mcp_tool *t, enum mcp_tool_detail detail);
/* All of them, made on first use; borrowed. */
json_t *mcp_tool_list(enum mcp_tool_detail detail);
/* Schema of the tool's structuredContent; a reply that is not an object is wrapped in "result". Caller owns.
 */
json_t *mcp_tool_output_schema(const struct mcp_tool *t);
/* Arguments (borrowed; NULL or null: none) to parameters of the operation, checked. Unknown arguments are ignored, and
 * named in *warnings (base/warnings.h). ERR_INVALID names the argument. Caller owns *ret and *warnings. */
int mcp_tool_params(const struct mcp_tool *t, const json_t *args, int64_t now_ms, json_t **ret, json_t **warnings,
                    struct err *err);
