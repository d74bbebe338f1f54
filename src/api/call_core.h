/* How a call is made and started: the half of call.h that only entry points need. May include: base/, http/, spec/. */
#pragma once
#include "api/call.h"

/* who is referenced; NULL: the server itself. params is taken (checked when the call is started). http may be NULL; it
 * is referenced until the call is finished. */
struct call *call_new(struct api *a, const struct op *op, json_t *params, struct http_req *http, struct caller *who);
/* Its response is still sent when the call itself revokes its caller's token. */
void call_keep(struct call *c);
/* Cancels the calls of this token and closes their connections. */
void call_end_of(struct api *a, const char *token_id);
/* Checks the parameters and runs the handler. The call may be gone afterwards. */
void call_start(struct call *c);
/* Answers a request that never became a call. */
void call_refuse(struct http_req *r, const struct err *err);
