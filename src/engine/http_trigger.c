/* Theory of operation. The body is buffered already. Middleware functions are called one after the other, then the
 * condition, then the function. Meanwhile the function may read the client's body on one channel and write the response
 * on another; the first of result and response channel wins. A struct exchange lives as long as anything may call back:
 * n_refs counts the client's side and each call in progress. An error of any function becomes a 500, a timeout 504; a
 * client that leaves only ends its own side. */
#include "engine/http_trigger.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "engine/channel.h"
#include "engine/channel_handle_core.h"
#include "engine/http_route.h"
#include "engine/message.h"
#include "engine/request_json.h"
#include "http/url.h"

#define GRACE_MS  2000 /* for the first frame on the response channel after a function returned nothing */
#define FIELD_MAX 65536

struct exchange {
    LIST_ENTRY(exchange) link;
    struct engine *engine;
    struct http_req *req; /* NULL: answered, or the client left */
    char *binding_id;
    json_t *payload, *middleware;
    size_t next_middleware;
    struct timer *timer;
    struct channel_handle *body, *response;
    int status;
    json_t *headers;   /* set_headers frames */
    bool is_begun;     /* the response is being streamed */
    bool has_frames;   /* a frame arrived on the response channel */
    bool has_returned; /* the function returned nothing */
    unsigned n_refs;
};

static void exchange_unref(struct exchange *x)
{
    if (--x->n_refs)
        return;
    json_decref(x->payload);
    json_decref(x->middleware);
    json_decref(x->headers);
    free(x->binding_id);
    free(x);
}

/* Ends the client's side, for whatever reason. */
static void exchange_settle(struct exchange *x)
{
    struct http_req *r = STEAL(x->req);
    if (!r)
        return;
    LIST_REMOVE(x, link);
    http_req_on_gone(r, NULL, NULL);
    http_req_on_drain(r, NULL, NULL);
    http_req_unref(r);
    x->timer = timer_free(x->timer);
    x->body = channel_handle_finish(x->body);
    x->response = channel_handle_finish(x->response);
    exchange_unref(x);
}

/* --- responding --- */

static bool is_framing(const char *name)
{
    static const char *const ours[] = { "content-length", "transfer-encoding", "connection", "upgrade",
                                        "content-type" };
    for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
        if (strcasecmp(name, ours[i]) == 0)
            return true;
    return false;
}

/* Adds headers given as a map, or as a list of "Name: value". Returns the content type among them, or NULL; caller
 * frees. */
static char *add_headers(struct http_req *r, json_t *headers)
{
    char *type = NULL;
    const char *key;
    json_t *value;
    JSON_OWNED pairs = json_object();
    for (size_t i = 0; i < json_array_size(headers); i++) {
        const char *line = json_string_value(json_array_get(headers, i)), *colon = line ? strchr(line, ':') : NULL;
        if (!colon)
            continue;
        CLEANUP(free_p) char *name = xstrndup(line, (size_t)(colon - line));
        (void)json_object_set_new(pairs, name, json_string(colon + 1 + strspn(colon + 1, " ")));
    }
    json_object_foreach(json_is_object(headers) ? headers : pairs, key, value)
    {
        if (!json_is_string(value))
            continue;
        if (strcasecmp(key, "content-type") == 0) {
            free(type);
            type = xstrdup(json_string_value(value));
        } else if (!is_framing(key)) {
            http_req_add_header(r, key, json_string_value(value));
        }
    }
    return type;
}

static int clamp_status(int64_t status)
{
    return status >= 200 && status <= 599 ? (int)status : 500;
}

static void reply_error(struct exchange *x, int status, const char *code, const char *text)
{
    JSON_OWNED error = message_error_body(code, text, NULL);
    JSON_OWNED body = json_pack("{s:O}", "error", error);
    if (status == 422)
        (void)json_object_set_new(body, "skipped", json_true());
    size_t len;
    CLEANUP(free_p) char *json = json_write(body, &len);
    http_req_reply(x->req, status, "application/json", json, len);
    exchange_settle(x);
}

/* {status_code, headers, body}, or any other value as the body. */
static void reply_result(struct exchange *x, json_t *result)
{
    bool is_shaped = json_get(result, "status_code") || json_object_get(result, "body") || json_get(result, "headers");
    json_t *body = is_shaped ? json_object_get(result, "body") : result;
    int status = clamp_status(is_shaped ? json_get_int(result, "status_code", 200) : 200);
    CLEANUP(free_p) char *type = is_shaped ? add_headers(x->req, json_get(result, "headers")) : NULL;
    JSON_OWNED empty = json_object();
    if (!body)
        body = empty;
    if (type && !strcasestr(type, "json") && json_is_string(body)) {
        http_req_reply(x->req, status, type, json_string_value(body), json_string_length(body));
        exchange_settle(x);
        return;
    }
    size_t len;
    CLEANUP(free_p) char *text = json_write(body, &len);
    http_req_reply(x->req, status, type ? type : "application/json", text, len);
    exchange_settle(x);
}

static void exchange_timeout(void *arg)
{
    struct exchange *x = arg;
    JSON_OWNED nothing = json_object();
    if (x->has_frames || !x->has_returned)
        reply_error(x, 504, "TIMEOUT", "the function did not answer in time");
    else
        reply_result(x, nothing);
}

/* --- the response channel --- */

static void response_begin(struct exchange *x)
{
    CLEANUP(free_p) char *type = add_headers(x->req, x->headers);
    x->is_begun = true;
    timer_set(x->timer, -1, 0); /* from here on the client decides how long it waits */
    http_req_begin(x->req, clamp_status(x->status), type ? type : "application/octet-stream", -1);
}

static void on_response_drain(void *arg)
{
    struct exchange *x = arg;
    if (x->response)
        channel_handle_hold(x->response, false);
}

static void response_data(void *arg, bool is_text, const char *data, size_t len)
{
    struct exchange *x = arg;
    x->has_frames = true;
    if (is_text) {
        JSON_OWNED frame = NULL;
        if (x->is_begun || json_read(data, len, &frame, NULL) < 0)
            return;
        const char *type = json_get_str(frame, "type", "");
        if (strcmp(type, "set_status") == 0) {
            x->status = clamp_status(json_get_int(frame, "status_code", 200));
        } else if (strcmp(type, "set_headers") == 0) {
            json_decref(x->headers);
            x->headers = json_incref(json_get(frame, "headers"));
        }
        return;
    }
    if (!x->is_begun)
        response_begin(x);
    if (http_req_send(x->req, data, len) > CHANNEL_HANDLE_MARK) {
        http_req_on_drain(x->req, on_response_drain, x);
        channel_handle_hold(x->response, true);
    }
}

static void on_response_end(void *arg)
{
    struct exchange *x = arg;
    x->response = NULL;
    if (!x->req || !x->has_frames)
        return; /* not used: the function's result is the response */
    if (!x->is_begun)
        response_begin(x);
    http_req_end(x->req);
    exchange_settle(x);
}

static void on_body_end(void *arg)
{
    struct exchange *x = arg;
    x->body = NULL;
}

/* --- calling the functions --- */

static void exchange_fired(void *arg, bool is_skipped, json_t *result, const struct engine_error *error)
{
    struct exchange *x = arg;
    bool is_open = x->req && !x->is_begun;
    if (is_open && is_skipped)
        reply_error(x, 422, "CONDITION_NOT_MET", "the route's condition rejected the request");
    else if (is_open && error)
        reply_error(x, 500, error->code, error->message);
    else if (is_open && result && !json_is_null(result))
        reply_result(x, result);
    else if (is_open && !x->has_frames)
        timer_set(x->timer, GRACE_MS, 0);
    x->has_returned = true;
    exchange_unref(x);
}

static void ask_next(struct exchange *x);

static void exchange_middleware(void *arg, json_t *result, const struct engine_error *error)
{
    struct exchange *x = arg;
    if (x->req && error) {
        reply_error(x, 500, error->code, error->message);
    } else if (x->req && strcmp(json_get_str(result, "action", ""), "respond") == 0) {
        JSON_OWNED response = json_incref(json_get(result, "response"));
        JSON_OWNED empty = json_object();
        reply_result(x, response ? response : empty);
    } else if (x->req) {
        x->next_middleware++;
        ask_next(x);
    }
    exchange_unref(x);
}

static void ask_next(struct exchange *x)
{
    const char *id = json_string_value(json_array_get(x->middleware, x->next_middleware));
    const struct binding *b = map_get(trigger_bindings(x->engine), x->binding_id);
    if (id) {
        JSON_OWNED payload =
            json_pack("{s:s, s:{s:O, s:O, s:O, s:O}, s:{}}", "phase", "preHandler", "request", "path_params",
                      json_object_get(x->payload, "path_params"), "query_params",
                      json_object_get(x->payload, "query_params"), "headers", json_object_get(x->payload, "headers"),
                      "method", json_object_get(x->payload, "method"), "context");
        x->n_refs++;
        engine_invoke(x->engine, id, payload, NULL, exchange_middleware, x);
    } else if (b) {
        x->n_refs++;
        trigger_fire(x->engine, b, x->payload, exchange_fired, x);
    } else {
        reply_error(x, 404, "NOT_FOUND", "this route was just removed");
    }
}

/* --- the request as a payload --- */

static json_t *request_json(const struct http_req *r, const struct binding *b, json_t *path_params)
{
    size_t len;
    const char *path = trigger_config_str(b, "api_path", ""), *type = http_req_header(r, "content-type");
    const char *text = http_req_body(r, &len);
    json_t *body = NULL;
    if (!type || !strcasestr(type, "application/json") || json_read_input(text, len, &body, NULL) < 0)
        body = json_null();
    return json_pack("{s:o, s:O, s:o, s:s, s:s, s:o, s:{s:s, s:s, s:s}}", "query_params",
                     request_json_query(http_req_query(r)), "path_params", path_params, "headers",
                     request_json_headers(r), "path", path, "method", http_req_method(r), "body", body, "trigger",
                     "type", "http", "path", path, "method", http_req_method(r));
}

/* Makes a channel: one end here, the reference to the other one in the payload. */
static struct channel_handle *exchange_open_channel(struct exchange *x, const char *member, bool is_writer,
                                                    const struct channel_handle_events *ev)
{
    struct channel_handle *made = NULL;
    struct channel *ch = channel_new(x->engine->channels, 0, NULL, NULL);
    JSON_OWNED writer = channel_ref_json(ch, CHANNEL_WRITER);
    JSON_OWNED reader = channel_ref_json(ch, CHANNEL_READER);
    (void)channel_handle_open(x->engine, NULL, is_writer ? writer : reader, ev, x, &made,
                              NULL); /* both ends of a new channel are free */
    message_set(x->payload, member, is_writer ? reader : writer);
    return made;
}

static void on_client_gone(void *arg)
{
    exchange_settle(arg);
}

void engine_serve_route(struct engine *e, struct http_req *r)
{
    static const struct channel_handle_events body_events = { .on_end = on_body_end };
    static const struct channel_handle_events response_events = { .on_data = response_data, .on_end = on_response_end };
    JSON_OWNED params = json_object();
    struct binding *b = http_route_match(e, http_req_method(r), http_req_path(r), params);
    struct exchange *x = xzalloc(sizeof(*x));
    *x = (struct exchange){ .engine = e, .req = http_req_ref(r), .status = 200, .n_refs = 2 };
    LIST_INSERT_HEAD(&e->exchanges, x, link);
    http_req_on_gone(r, on_client_gone, x);
    x->timer = timer_new(e->loop, HTTP_ROUTE_TIMEOUT_MS, 0, exchange_timeout, x);
    if (b && !e->is_stopping) {
        size_t len;
        const char *body = http_req_body(r, &len);
        x->binding_id = xstrdup(b->id);
        x->payload = request_json(r, b, params);
        x->middleware = json_incref(json_get(b->config, "middleware_function_ids"));
        x->body = exchange_open_channel(x, "request_body", true, &body_events);
        x->response = exchange_open_channel(x, "response", false, &response_events);
        if (len)
            (void)channel_handle_send(x->body, false, body, len);
        x->body = channel_handle_finish(x->body);
        ask_next(x);
    } else {
        reply_error(x, b ? 503 : 404, b ? "UNAVAILABLE" : "NOT_FOUND", b ? "the server stops" : "no such route");
    }
    exchange_unref(x);
}

void http_trigger_stop(struct engine *e)
{
    struct exchange *x;
    while ((x = LIST_FIRST(&e->exchanges))) {
        if (x->is_begun) {
            http_req_abort(x->req);
            exchange_settle(x);
        } else {
            reply_error(x, 503, "UNAVAILABLE", "the server stops");
        }
    }
}
