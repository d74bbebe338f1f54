#include "api/observe.h"

#include <stdlib.h>
#include <string.h>

#include "api/api_core.h"
#include "api/otlp.h"
#include "api/prometheus.h"
#include "api/traces.h"
#include "base/alloc.h"
#include "sandbox/net/egress.h"
#include "sandbox/observe/alerts.h"
#include "sandbox/observe/denied_calls.h"

#define METRICS_PATH "/metrics"
#define PAGE_MAX     (8u << 20)

struct observe {
    struct api *api;
    struct traces *traces;
    struct prometheus *prometheus;
    struct otlp *otlp; /* NULL: spans go nowhere */
};

static void on_trace(void *arg, const struct api_trace *t)
{
    struct observe *o = arg;
    traces_add(o->traces, t);
    prometheus_count(o->prometheus, t->op, t->duration_us, t->err);
    if (!o->otlp || !t->span)
        return;
    struct otlp_span span = { .span = t->span,
                              .name = t->op->fn,
                              .method = t->op->method,
                              .route = t->op->path,
                              .sandbox_id = t->sandbox_id,
                              .duration_us = t->duration_us,
                              .status = t->err ? err_status(t->err->code) : 200,
                              .error = t->err ? t->err->msg : NULL };
    otlp_add(o->otlp, &span);
}

/* A denial inside a sandbox, in the audit log; a burst is a count. */
static void record_denial(const struct observe *o, const char *operation, json_t *what)
{
    const struct sandbox *s = map_get(o->api->manager->sandboxes, json_get_str(what, "sandboxId", ""));
    audit_refused(o->api->audit, &(struct audit_line){ .operation = operation,
                                                       .tenant = s ? s->tenant : "",
                                                       .target = json_incref(what),
                                                       .status = 403 });
}

/* Connections that an egress policy denied. */
static void on_denied(void *arg, json_t *what)
{
    record_denial(arg, EGRESS_DENIED, what);
}

/* So are the system calls that a filter denied. */
static void on_denied_call(void *arg, json_t *what)
{
    record_denial(arg, DENIED_CALLS_EVENT, what);
}

static bool on_metrics(void *arg, struct http_req *r)
{
    const struct observe *o = arg;
    CLEANUP(buf_done) struct buf page = BUF_INIT(PAGE_MAX);
    const char *method = http_req_method(r);
    if (strcmp(http_req_path(r), METRICS_PATH) != 0 || (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0))
        return false;
    struct manager *m = o->api->manager;
    struct otlp_counts spans = otlp_counts(o->otlp);
    struct audit_counts audit = audit_counts(o->api->audit);
    const struct prometheus_extra extra[] = {
        { "iii_calls_running", "Calls in progress, streams included.", false, o->api->n_calls },
        { "iii_events_total", "Events since the start.", true, event_log_count(m->events) },
        { "iii_alerts_fired_total", "Alerts that fired since the start.", true, alerts_fired(m->alerts) },
        { "iii_otlp_spans_sent_total", "Spans a collector took.", true, spans.sent },
        { "iii_otlp_spans_dropped_total", "Spans that were dropped.", true, spans.dropped },
        { "iii_audit_lines_total", "Lines of the audit log since the start.", true, audit.lines },
        { "iii_egress_denied_total", "Connections and lookups of sandboxes that were denied.", true,
          egress_denied(m->egress) },
        { "iii_audit_failures_total", "Writes of the audit log that failed.", true, audit.failures },
        { "iii_otlp_spans_waiting", "Spans to be sent.", false, spans.waiting },
    };
    if (prometheus_write(o->prometheus, extra, sizeof(extra) / sizeof(extra[0]), &page) < 0)
        http_req_reply(r, 500, "text/plain", "the page is too large\n", 22);
    else
        http_req_reply(r, 200, PROMETHEUS_TYPE, buf_text(&page), page.len);
    return true;
}

int observe_new(struct api *a, struct observe **ret, struct err *err)
{
    struct observe *o = xzalloc(sizeof(*o));
    o->api = a;
    int r = otlp_new(a->loop, a->settings, &o->otlp, err);
    if (r < 0) {
        free(o);
        return r;
    }
    o->traces = traces_new(a->manager->store, a->settings->max_traces);
    o->prometheus = prometheus_new(a->manager);
    egress_on_denied(a->manager->egress, on_denied, o);
    denied_calls_on(a->manager->denied_calls, on_denied_call, o);
    a->observe = o;
    a->has_spans = o->otlp != NULL;
    api_on_trace(a, on_trace, o);
    api_add_entry(
        a, &(struct api_entry){
               .path_prefix = METRICS_PATH, .fn = on_metrics, .arg = o, .needs_auth = true, .is_watchable = true });
    *ret = o;
    return 0;
}

struct observe *observe_free(struct observe *o)
{
    if (!o)
        return NULL;
    api_on_trace(o->api, NULL, NULL);
    o->api->observe = NULL;
    egress_on_denied(o->api->manager->egress, NULL, NULL);
    denied_calls_on(o->api->manager->denied_calls, NULL, NULL);
    otlp_free(o->otlp);
    prometheus_free(o->prometheus);
    traces_free(o->traces);
    free(o);
    return NULL;
}

struct traces *observe_traces(struct observe *o)
{
    return o->traces;
}
