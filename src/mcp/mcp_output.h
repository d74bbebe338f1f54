/* The output of a command that is followed while it runs, gathered into the answer that a plain run would have given.
 * Untrusted: events. May include: base/. */
#pragma once
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"

#define MCP_OUTPUT_MAX      LIMIT_MAX(OUTPUT_BYTES) /* bytes kept of each stream, as of a plain run */
#define MCP_OUTPUT_LINE_MAX 160                     /* bytes of the last line, for progress notifications */

struct mcp_output {
    struct buf text[2]; /* stdout, stderr */
    bool is_cut[2];
    char line[MCP_OUTPUT_LINE_MAX + 1]; /* the newest that is not blank; "": none yet */
    char error[200];                    /* why the stream ended early */
    bool has_exit, is_timeout;
    int exit_code;
};
void mcp_output_init(struct mcp_output *o);
void mcp_output_done(struct mcp_output *o);
void mcp_output_event(struct mcp_output *o, const json_t *event);
/* The status and the body that POST …/exec would have answered with. Caller owns *ret_body. */
int mcp_output_answer(const struct mcp_output *o, int64_t duration_ms, json_t **ret_body);
