/* One request to a route that a worker has bound: from the request to the function's payload, and from its reply (a
 * result, or frames on the response channel) back to the client. Private to engine/. */
#pragma once
#include "engine/engine_core.h"

void http_trigger_stop(struct engine *e);
