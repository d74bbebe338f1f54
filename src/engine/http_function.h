/* Functions that an HTTP request of the engine carries out: what `invocation` of registerfunction says, the rules for
 * its URL, the request and the meaning of the response. Untrusted: what a worker registers, what the server answers.
 * Private to engine/. */
#pragma once
#include "engine/engine_core.h"

#define HTTP_FUNCTION_CALLS_MAX  1000               /* concurrent requests */
#define HTTP_FUNCTION_OWNER_MAX  250                /* of them for the functions of one worker, and of one tenant */
#define HTTP_FUNCTION_BODY_MAX   (16 * 1024 * 1024) /* bytes of a response */
#define HTTP_FUNCTION_TIMEOUT_MS 30000              /* unless the registration says so; at most twice as long */
#define HTTP_FUNCTION_HEADERS    64                 /* headers of a registration */

struct http_function;

/* invocation is {url, method, timeout_ms, headers, auth}. -EINVAL or -EPERM with err: the URL is not allowed, or a
 * secret's variable is not set. */
int http_function_new(const struct engine *e, const json_t *invocation, struct http_function **ret, struct err *err);
struct http_function *http_function_free(struct http_function *f);
engine_fn http_function_call; /* arg: the struct function */
void http_function_stop(struct engine *e);
