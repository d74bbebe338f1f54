/* Resources: sandboxes, their files and logs under addresses of their own. Untrusted: addresses. May include: base/,
 * spec/, http/url.h.
 *   sandbox://ID              the record
 *   sandbox://ID/logs         recent output of the main process
 *   sandbox://ID/files/PATH   a file; a folder when it ends with "/" */
#pragma once
#include "base/err.h"
#include "base/json.h"
#include "spec/spec.h"

#define MCP_RESOURCE_PAGE 50 /* sandboxes on one page of a list */

struct mcp_resource {
    enum op_id op;
    json_t *params;
    char *path; /* of a file; "" else */
};
/* ERR_INVALID when it is none of ours. Caller calls mcp_resource_done(). */
int mcp_resource_parse(const char *uri, struct mcp_resource *ret, struct err *err);
void mcp_resource_done(struct mcp_resource *r);
json_t *mcp_resource_templates(void); /* result of resources/templates/list; caller owns */
/* Whether a template with this address has an argument of that name. */
bool mcp_resource_has(const char *uri_template, const char *argument);
/* The result of resources/list out of one page of sandbox_list. Caller owns. */
json_t *mcp_resource_list(const json_t *page);
/* The result of resources/read out of the operation's answer. Caller owns. */
json_t *mcp_resource_contents(const struct mcp_resource *r, const char *uri, const json_t *body);
