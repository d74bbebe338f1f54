/* From an operation's reply to a tool's result: text as the contract defines it, images, structured content. Untrusted:
 * everything a sandbox put into the answer. May include: base/, spec/, mcp/mcp_tool.h. */
#pragma once
#include "base/json.h"
#include "mcp/mcp_tool.h"

struct mcp_text_answer {
    const struct mcp_tool *tool;
    const json_t *args; /* as the client gave them, or NULL */
    json_t *body;       /* the operation's answer; of a stream: an array of its events */
    json_t *warnings;   /* beside those in body; NULL: none */
    bool is_structured; /* the client knows structured content */
};
/* {content, structuredContent?, isError?} of an answer that came; caller owns. */
json_t *mcp_text_result(const struct mcp_text_answer *a);
/* The same for a failure: text, isError. */
json_t *mcp_text_failure(const char *text);
/* A file's bytes as content of a resource: {uri, mimeType, text | blob}; base64 as the server gives it. Caller owns. */
json_t *mcp_text_resource(const char *uri, const char *path, const char *base64);
/* "[type] data" lines of log events; caller frees. */
char *mcp_text_lines(const json_t *events);
