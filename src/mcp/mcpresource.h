/* Resources: sandboxes, their files and logs under addresses of their own. Untrusted: addresses. May include: base/,
 * spec/, http/url.h.
 *   sandbox://ID              the record
 *   sandbox://ID/logs         recent output of the main process
 *   sandbox://ID/files/PATH   a file; a folder when it ends with "/" */
#pragma once
#include "base/err.h"
#include "base/json.h"
#include "spec/spec.h"

#define MCPRESOURCE_PAGE 50 /* sandboxes on one page of a list */

struct mcpresource {
    enum op_id op;
    json_t *params;
    char *path; /* of a file; "" else */
};
/* ERR_INVALID when it is none of ours. Caller calls mcpresource_done(). */
int mcpresource_parse(const char *uri, struct mcpresource *ret, struct err *err);
void mcpresource_done(struct mcpresource *r);
json_t *mcpresource_templates(void); /* result of resources/templates/list; caller owns */
/* The result of resources/list out of one page of sandbox_list. Caller owns. */
json_t *mcpresource_list(const json_t *page);
/* The result of resources/read out of the operation's answer. Caller owns. */
json_t *mcpresource_contents(const struct mcpresource *r, const char *uri, const json_t *body);
