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
/* Ends the streams that go over WebSockets, which the HTTP server no longer knows. */
void call_end_sockets(struct api *a);
bool call_is_socket(const struct op *op, const struct http_req *r); /* a stream is wanted over a WebSocket */
/* Checks the parameters and runs the handler. The call may be gone afterwards. */
void call_start(struct call *c);
void call_let_sleep(struct call *c); /* before it starts: it does not wake its sandbox */
/* Answers a request that never became a call. */
void call_refuse(struct http_req *r, const struct err *err);
