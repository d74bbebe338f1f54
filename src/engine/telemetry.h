/* The sockets of /otel: accepted, so that clients do not retry for ever; what they send is discarded. Private to
 * engine/. */
#pragma once
#include "engine/engine_core.h"

void telemetry_accept(struct engine *e, struct http_req *r, const char tenant[SHARE_TENANT_MAX]);
void telemetry_stop(struct engine *e);
