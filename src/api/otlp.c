#include "api/otlp.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/version.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/strlist.h"
#include "http/client.h"
#include "http/url.h"
#include "tls/tls_context.h"

#define FLUSH_MS     1000
#define TIMEOUT_MS   10000
#define TRIES_MAX    4 /* of one batch; the pause before the next doubles from FLUSH_MS on */
#define REPLY_MAX    65536
#define KIND_SERVER  2
#define RESOURCE_MAX 16384 /* as its setting */
#define STATUS_OK    1
#define STATUS_BAD   2

struct otlp {
    struct loop *loop;
    struct tls_context_trust trust; /* of the settings, which outlive this */
    char *url, **headers;
    json_t *resource; /* attributes as OTLP wants them */
    json_t *queue;    /* array of spans as OTLP wants them, oldest first */
    json_t *batch;    /* under way, or waiting to be tried again; NULL: none */
    unsigned tries;
    struct http_client *http;
    int status; /* of the answer that is arriving */
    struct timer *timer;
    int64_t sent, dropped;
    bool is_failing; /* said in the log once until it works again */
};

/* "name=value,name=value" to "name: value" lines. */
static void read_headers(struct otlp *o, const char *text)
{
    strlist_add(&o->headers, "Content-Type: application/json");
    while (*text) {
        size_t len = strcspn(text, ",");
        const char *equals = memchr(text, '=', len);
        if (equals && equals > text) {
            size_t name = (size_t)(equals - text);
            CLEANUP(free_p) char *line = xasprintf("%.*s: %.*s", (int)name, text, (int)(len - name - 1), equals + 1);
            strlist_add(&o->headers, line);
        }
        text += len + (text[len] == ',');
    }
}

static void add_text(json_t *list, const char *key, const char *value)
{
    (void)json_array_append_new(
        list, json_pack("{s:s, s:{s:o}}", "key", key, "value", "stringValue", json_text(value, strlen(value))));
}

/* "key=value,key=value", percent-encoded, into found. -EINVAL: one of them is neither. */
static int read_resource(const char *text, json_t *found)
{
    while (*text) {
        CLEANUP(buf_done) struct buf key = BUF_INIT(RESOURCE_MAX), value = BUF_INIT(RESOURCE_MAX);
        const char *end = text + strcspn(text, ","), *next = end + (*end == ',');
        const char *equals = memchr(text, '=', (size_t)(end - text));
        if (!equals)
            return -EINVAL;
        const char *key_end = equals, *from = equals + 1;
        while (text < key_end && strchr(" \t", *text))
            text++;
        while (key_end > text && strchr(" \t", key_end[-1]))
            key_end--;
        while (from < end && strchr(" \t", *from))
            from++;
        while (end > from && strchr(" \t", end[-1]))
            end--;
        if (key_end == text || url_decode(text, (size_t)(key_end - text), &key) < 0 ||
            url_decode(from, (size_t)(end - from), &value) < 0)
            return -EINVAL;
        (void)json_object_set_new(found, buf_text(&key), json_text(buf_text(&value), value.len));
        text = next;
    }
    return 0;
}

/* In the order of OpenTelemetry: OTEL_SERVICE_NAME, then the attributes given, then what the server knows itself. */
static void set_resource(struct otlp *o, const struct settings *s)
{
    JSON_OWNED all = json_pack("{s:s, s:s}", "service.name", "iii-sandbox", "service.version", API_VERSION);
    JSON_OWNED given = json_object();
    const char *key;
    json_t *value;
    if (read_resource(s->otlp_resource, given) == 0)
        (void)json_object_update(all, given);
    else
        log_event(LOG_WARN, "otlp.resource", "error",
                  "OTEL_RESOURCE_ATTRIBUTES is not a list key=value,key=value with percent-encoded values; "
                  "ignoring all of it",
                  NULL);
    if (*s->otlp_service)
        (void)json_object_set_new(all, "service.name", json_string(s->otlp_service));
    json_object_foreach(all, key, value) add_text(o->resource, key, json_string_value(value));
}

static void send_batch(struct otlp *o);

static void on_timer(void *arg)
{
    struct otlp *o = arg;
    if (!o->http && (o->batch || json_array_size(o->queue) > 0))
        send_batch(o);
}

int otlp_new(struct loop *l, const struct settings *s, struct otlp **ret, struct err *err)
{
    *ret = NULL;
    if (!*s->otlp_endpoint)
        return 0;
    if (strncmp(s->otlp_endpoint, "http://", 7) != 0 && strncmp(s->otlp_endpoint, "https://", 8) != 0)
        return err_set(err, ERR_INVALID, 0,
                       "OTEL_EXPORTER_OTLP_ENDPOINT: \"%.200s\" is not http:// or https://HOST:PORT of a collector",
                       s->otlp_endpoint);
    struct otlp *o = xzalloc(sizeof(*o));
    size_t len = strlen(s->otlp_endpoint);
    o->loop = l;
    o->trust = (struct tls_context_trust){ s->ca_cert, s->client_cert, s->client_key };
    o->url = xasprintf("%.*s/v1/traces", (int)(len - (s->otlp_endpoint[len - 1] == '/')), s->otlp_endpoint);
    o->resource = json_array();
    set_resource(o, s);
    o->queue = json_array();
    read_headers(o, s->otlp_headers);
    o->timer = timer_new(l, FLUSH_MS, FLUSH_MS, on_timer, o);
    *ret = o;
    return 0;
}

struct otlp *otlp_free(struct otlp *o)
{
    if (!o)
        return NULL;
    http_client_free(o->http);
    timer_free(o->timer);
    json_decref(o->queue);
    json_decref(o->batch);
    strlist_free(o->headers);
    json_decref(o->resource);
    free(o->url);
    free(o);
    return NULL;
}

/* --- one span --- */

static json_t *span_json(const struct otlp_span *s)
{
    int64_t end_us = clock_wall_ms() * 1000;
    json_t *attributes = json_array();
    if (*s->method) /* a function of the engine has none */
        add_text(attributes, "http.request.method", s->method);
    if (*s->route)
        add_text(attributes, "http.route", s->route);
    /* 64-bit numbers are texts in OTLP's JSON, as in all JSON of protocol buffers. */
    (void)json_array_append_new(attributes, json_pack("{s:s, s:{s:o}}", "key", "http.response.status_code", "value",
                                                      "intValue", json_sprintf("%d", s->status)));
    if (s->sandbox_id)
        add_text(attributes, "iii.sandbox.id", s->sandbox_id);
    json_t *j = json_pack("{s:s, s:s, s:s, s:i, s:o, s:o, s:o}", "traceId", s->span->trace_id, "spanId", s->span->id,
                          "name", s->name, "kind", KIND_SERVER, "startTimeUnixNano",
                          json_sprintf("%lld000", (long long)(end_us - s->duration_us)), "endTimeUnixNano",
                          json_sprintf("%lld000", (long long)end_us), "attributes", attributes);
    if (*s->span->parent_id)
        (void)json_object_set_new(j, "parentSpanId", json_string(s->span->parent_id));
    json_t *status = json_pack("{s:i}", "code", s->error ? STATUS_BAD : STATUS_OK);
    if (s->error)
        (void)json_object_set_new(status, "message", json_text(s->error, strlen(s->error)));
    (void)json_object_set_new(j, "status", status);
    return j;
}

void otlp_add(struct otlp *o, const struct otlp_span *s)
{
    if (!s->span->is_sampled)
        return;
    if (json_array_size(o->queue) >= OTLP_QUEUE_MAX) {
        o->dropped++;
        return;
    }
    (void)json_array_append_new(o->queue, span_json(s));
    if (json_array_size(o->queue) >= OTLP_BATCH_MAX && !o->batch)
        timer_set(o->timer, 0, FLUSH_MS);
}

struct otlp_counts otlp_counts(const struct otlp *o)
{
    if (!o)
        return (struct otlp_counts){ 0 };
    return (struct otlp_counts){ .sent = o->sent,
                                 .dropped = o->dropped,
                                 .waiting = (int64_t)(json_array_size(o->queue) + json_array_size(o->batch)) };
}

/* --- sending --- */

static void next_batch(struct otlp *o)
{
    o->batch = json_array();
    o->tries = 0;
    size_t n = json_array_size(o->queue);
    if (n <= OTLP_BATCH_MAX) {
        json_t *empty = o->batch;
        o->batch = o->queue;
        o->queue = empty;
        return;
    }
    json_t *rest = json_array();
    for (size_t i = 0; i < n; i++)
        (void)json_array_append(i < OTLP_BATCH_MAX ? o->batch : rest, json_array_get(o->queue, i));
    json_decref(o->queue);
    o->queue = rest;
}

static void batch_failed(struct otlp *o, const char *why, bool can_retry)
{
    if (!o->is_failing)
        log_event(LOG_WARN, "otlp.send", "url", o->url, "error", why, NULL);
    o->is_failing = true;
    if (can_retry && ++o->tries < TRIES_MAX) {
        timer_set(o->timer, FLUSH_MS << o->tries, FLUSH_MS);
        return;
    }
    o->dropped += (int64_t)json_array_size(o->batch);
    o->batch = json_unref(o->batch);
}

static void on_head(void *arg, struct http_client *c, int status)
{
    struct otlp *o = arg;
    (void)c;
    o->status = status;
}

static void on_batch_sent(void *arg, struct http_client *c, const struct err *err)
{
    struct otlp *o = arg;
    char text[64];
    (void)c; /* freed behind us */
    o->http = NULL;
    if (err) {
        batch_failed(o, err->msg, true);
        return;
    }
    if (o->status / 100 == 2) {
        o->sent += (int64_t)json_array_size(o->batch);
        o->batch = json_unref(o->batch);
        o->is_failing = false;
        if (json_array_size(o->queue) >= OTLP_BATCH_MAX)
            send_batch(o);
        return;
    }
    (void)snprintf(text, sizeof(text), "the collector answered %d", o->status);
    batch_failed(o, text,
                 o->status == 429 || (o->status >= 502 && o->status <= 504)); /* the ones OTLP lets us repeat */
}

static void send_batch(struct otlp *o)
{
    static const struct http_client_events events = { .on_head = on_head, .on_done = on_batch_sent };
    struct err err = ERR_INIT;
    size_t len;
    if (!o->batch)
        next_batch(o);
    JSON_OWNED body =
        json_pack("{s:[{s:{s:O}, s:[{s:{s:s, s:s}, s:O}]}]}", "resourceSpans", "resource", "attributes", o->resource,
                  "scopeSpans", "scope", "name", "iii-sandbox", "version", API_VERSION, "spans", o->batch);
    CLEANUP(free_p) char *text = json_write(body, &len);
    struct http_client_request req = { .method = "POST",
                                       .url = o->url,
                                       .headers = (const char *const *)o->headers,
                                       .body = text,
                                       .body_len = len,
                                       .timeout_ms = TIMEOUT_MS,
                                       .body_max = REPLY_MAX,
                                       .trust = &o->trust,
                                       .rule = outgoing_operator };
    if (http_client_start(o->loop, &req, &events, o, &o->http, &err) < 0)
        batch_failed(o, err.msg, false);
}
