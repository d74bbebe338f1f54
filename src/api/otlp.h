/* Sends spans to an OTLP/HTTP collector as JSON, in batches. A collector that is slow or away never holds up a call:
 * the queue is bounded, what does not fit is dropped and counted. May include: base/, loop/, http/, api/span.h. */
#pragma once
#include <stdint.h>

#include "api/span.h"
#include "base/err.h"
#include "base/settings.h"
#include "loop/loop.h"

#define OTLP_QUEUE_MAX 2048 /* spans that wait */
#define OTLP_BATCH_MAX 512  /* spans in one request */

struct otlp;

/* *ret is NULL when no endpoint is set. -EINVAL for one that is not http://. */
int otlp_new(struct loop *l, const struct settings *s, struct otlp **ret, struct err *err);
struct otlp *otlp_free(struct otlp *o);

struct otlp_span {
    const struct span *span;
    const char *name, *method, *route; /* live as long as the program */
    const char *sandbox_id;            /* may be NULL; copied */
    int64_t duration_us;
    int status;        /* HTTP */
    const char *error; /* NULL: it went well; copied */
};
void otlp_add(struct otlp *o, const struct otlp_span *s); /* a span that is not sampled is left out */

struct otlp_counts {
    int64_t sent, dropped, waiting;
};
struct otlp_counts otlp_counts(const struct otlp *o);
