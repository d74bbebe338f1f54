/* The sockets of /otel: accepted, so that clients do not try for ever, and read to nowhere. Private to engine/. */
#pragma once
#include "engine/engine_core.h"

void telemetry_accept(struct engine *e, struct http_req *r);
void telemetry_stop(struct engine *e);
