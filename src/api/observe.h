/* Observability of the server: a trace for each call, numbers for Prometheus at GET /metrics, spans for OTLP.
 * Made by main/ after the API; handlers reach it through their call. May include: base/, api/, sandbox/. */
#pragma once
#include "api/api.h"
#include "base/err.h"

struct observe;
struct traces;

/* Takes the API's trace hook and adds the entry point /metrics. */
int observe_new(struct api *a, struct observe **ret, struct err *err);
struct observe *observe_free(struct observe *o); /* before the API goes */
struct traces *observe_traces(struct observe *o);
