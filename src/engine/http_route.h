/* Trigger type `http`: routes that workers bind on the REST listener. A route is "/a/:name/b"; literal parts take
 * precedence over parameters. Private to engine/, except through engine_has_route() and engine_serve_route(). */
#pragma once
#include "engine/engine_core.h"
#include "engine/trigger.h"

#define HTTP_ROUTE_TIMEOUT_MS 30000 /* a response that has not begun by then becomes 504 */
#define HTTP_ROUTE_PARTS_MAX  64

void http_route_init(struct engine *e);
void http_route_stop(struct engine *e); /* requests in progress get 503 */
void http_route_done(struct engine *e);
/* The binding for a request, or NULL. params (may be NULL) gets the path's parameters. */
struct binding *http_route_match(const struct engine *e, const char *method, const char *path, json_t *params);
