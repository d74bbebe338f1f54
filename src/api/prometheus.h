/* Counters of the server in Prometheus' text format (0.0.4). Counting a call is a few additions; the text is made when
 * asked for. May include: base/, spec/, sandbox/. */
#pragma once
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "sandbox/lifecycle/manager.h"
#include "spec/spec.h"

#define PROMETHEUS_TYPE "text/plain; version=0.0.4; charset=utf-8"
#define PROMETHEUS_BOXES_MAX \
    200 /* sandboxes with series of their own, shared between tenants: each costs a look into its control group */

struct prometheus;

struct prometheus *prometheus_new(struct manager *m);
struct prometheus *prometheus_free(struct prometheus *p);
void prometheus_count(struct prometheus *p, const struct op *op, int64_t duration_us, const struct err *err);

/* What other parts count, shown as they are: name, help, counter or gauge, value. */
struct prometheus_extra {
    const char *name, *help;
    bool is_counter;
    int64_t value;
};
/* Appends the whole page; -E2BIG when out's maximum is too small for it. */
int prometheus_write(const struct prometheus *p, const struct prometheus_extra *extra, size_t n, struct buf *out);
