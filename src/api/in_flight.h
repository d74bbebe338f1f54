/* Bytes of requests and replies that the server holds for each tenant, so that no tenant can fill its memory: bodies
 * that arrive, and replies that wait for a slow client. May include: base/, http/, loop/. */
#pragma once
#include <stddef.h>

#include "base/err.h"

struct api;
struct caller;
struct http_req;

#define IN_FLIGHT_NOBODY "?" /* the tenant of requests that come without a token, where they may */

/* The body that a head announces, charged to the caller's tenant (NULL: nobody's) until the request is over.
 * ERR_CAPACITY: it has as many bytes in flight as it may have. */
int in_flight_body(struct api *a, struct http_req *r, const struct caller *who, size_t bytes, struct err *err);
/* The same for a reply, which is never refused; until it is sent, in_flight_check() refuses the tenant's next request.
 */
void in_flight_reply(struct api *a, struct http_req *r, const struct caller *who, size_t bytes);
int in_flight_check(const struct api *a, const struct caller *who, struct err *err);
