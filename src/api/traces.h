/* One record for each API call. III_MAX_TRACES are kept: beyond it the oldest of those tenants that have most go. They
 * are written to the store as they come and read into memory when someone first asks or there are too many. May
 * include: base/, spec/, store/, api/api.h. */
#pragma once
#include <stdint.h>

#include "base/err.h"
#include "base/json.h"
#include "store/store.h"

struct traces;

struct traces *traces_new(struct store *store, int64_t keep);
struct traces *traces_free(struct traces *t);

struct api_trace; /* api/api.h */
void traces_add(struct traces *t, const struct api_trace *call);

/* Which, newest first; a NULL text matches all. */
struct traces_query {
    const char *sandbox_id, *fn;
    const char *tenant; /* only calls on its behalf */
    int64_t limit, offset;
};
/* Each returns a new value, or NULL with err when the store cannot be read. */
json_t *traces_page(struct traces *t, const struct traces_query *q, struct err *err); /* {traces, total} */
/* {totalRequests, totalErrors, avgDuration, p50Duration, p95Duration, p99Duration,
 * functionCounts} */
json_t *traces_metrics(struct traces *t, const char *tenant, struct err *err); /* tenant NULL: all */
/* Deletes those strictly older than a time; how many, or negative. */
int64_t traces_clear(struct traces *t, int64_t before_ms, struct err *err);
