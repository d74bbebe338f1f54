/* The door itself, over a real connection: order of checks, shapes of refusals, CORS, side doors. No sandbox is needed.
 */
#include <errno.h>

#include "api/api_core.h"
#include "api/call_core.h"
#include "base/alloc.h"
#include "base/share.h"
#include "http/server_fixture.h"
#include "store/store.h"

#define JSON_HEADER "Content-Type: application/json\r\n"

struct rig {
    struct fixture f;
    struct settings settings;
    struct manager manager; /* only what the handlers used here look at */
    struct keyring *keys;
    struct api *api;
    char traces[256];
};

static void on_trace(void *arg, const struct api_trace *t)
{
    struct rig *r = arg;
    CHECK(t->duration_us >= 0);
    (void)snprintf(r->traces, sizeof(r->traces), "%s %s %d", t->op->fn, t->sandbox_id ? t->sandbox_id : "-",
                   t->err ? err_status(t->err->code) : 200);
}

static void rig_init(struct rig *r, const char *token)
{
    struct http_limits limits = HTTP_LIMITS_DEFAULT;
    struct err err = ERR_INIT;
    *r = (struct rig){ .f = { .in = BUF_INIT(1u << 24) } };
    settings_init(&r->settings);
    free(r->settings.auth_token);
    r->settings.auth_token = xstrdup(token);
    r->settings.max_body_mb = 1;
    r->manager.settings = &r->settings;
    r->manager.sandboxes = map_new();
    bool is_up = store_open(STORE_IN_MEMORY, &r->manager.store, &err) == 0 && loop_new(&r->f.loop, &err) == 0 &&
                 keyring_new(r->f.loop, NULL, token, &r->keys, &err) == 0 &&
                 api_new(r->f.loop, &r->manager, &r->settings, r->keys, &r->api, &err) == 0;
    if (is_up) {
        struct http_app app = api_http_app(r->api);
        api_on_trace(r->api, on_trace, r);
        is_up = http_server_new(r->f.loop, &app, &limits, &r->f.server, &err) == 0 &&
                http_server_listen_tcp(r->f.server, "127.0.0.1", 0, &r->f.port, &err) == 0;
    }
    if (!is_up) {
        printf("Bail out! %s\n", err.msg);
        exit(1);
    }
}

static void rig_done(struct rig *r)
{
    r->f.server = http_server_free(r->f.server);
    CHECK_INT(api_calls_running(r->api), 0);
    r->api = api_free(r->api);
    r->keys = keyring_free(r->keys);
    fixture_done(&r->f);
    r->manager.store = store_close(r->manager.store);
    r->manager.sandboxes = map_free(r->manager.sandboxes);
    settings_done(&r->settings);
}

/* Sends one request ("GET /x", extra headers, body) and checks the status and, unless NULL, the body of the reply. */
static void ask(struct rig *r, const char *line, const char *headers, const char *body, int status,
                const char *expected)
{
    CLEANUP(free_p)
    char *text = xasprintf("%s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n%sContent-Length: %zu\r\n\r\n%s",
                           line, headers, strlen(body), body);
    CLEANUP(free_p) char *first = xasprintf("HTTP/1.1 %d ", status);
    CHECK(fixture_exchange(&r->f, text));
    const char *reply = buf_text(&r->f.in), *got = strstr(reply, "\r\n\r\n");
    if (strncmp(reply, first, strlen(first)) != 0)
        printf("# %s: %.60s\n", line, reply);
    CHECK(strncmp(reply, first, strlen(first)) == 0);
    if (expected)
        CHECK_STR(got ? got + 4 : NULL, expected);
}

TEST(answers_and_refuses_in_the_contracts_shapes)
{
    struct rig r;
    rig_init(&r, "");
    ask(&r, "GET /sandbox/health", "", "", 200, "{\"status\":\"healthy\"}");
    CHECK(fixture_has(&r.f, "Content-Type: application/json\r\n"));
    CHECK(!fixture_has(&r.f, "Access-Control-Allow-Origin"));
    CHECK_STR(r.traces, "lifecycle::health - 200");
    ask(&r, "HEAD /sandbox/health", "", "", 200, "");
    ask(&r, "GET /sandbox/health/", "", "", 200, "{\"status\":\"healthy\"}");
    ask(&r, "GET /x", "", "", 404, "{\"error\":\"not found: GET /x\"}");
    ask(&r, "PUT /sandbox/sandboxes", "", "", 405, NULL);
    CHECK(fixture_has(&r.f, "Allow: POST, GET, HEAD, OPTIONS\r\n"));
    ask(&r, "POST /sandbox/sandboxes/x/exec", JSON_HEADER, "{", 400, NULL);
    ask(&r, "POST /sandbox/sandboxes/x/exec", JSON_HEADER, "", 400, "{\"error\":\"command is required\"}");
    CHECK_STR(r.traces, "cmd::run x 400");
    ask(&r, "POST /sandbox/sandboxes/x/exec", "", "{\"command\":\"ls\"}", 400,
        "{\"error\":\"command is required (the body was not read: send Content-Type: application/json)\"}");
    ask(&r, "POST /sandbox/sandboxes/x/renew?expiresAt=1", JSON_HEADER, "{\"expiresAt\":\"soon\",\"id\":\"y\"}", 400,
        "{\"error\":\"expiresAt: must be a whole number\"}");
    CHECK_STR(r.traces, "sandbox::renew x 400");
    rig_done(&r);
}

TEST(tokens_come_before_routes)
{
    struct rig r;
    rig_init(&r, "secret");
    ask(&r, "GET /sandbox/health", "", "", 200, NULL);
    ask(&r, "GET /sandbox/metrics", "", "", 401, "{\"error\":\"Missing authorization header\"}");
    ask(&r, "GET /sandbox/nothing", "", "", 401, NULL);
    ask(&r, "GET /sandbox/pool/status", "Authorization: Bearer wrong\r\n", "", 403, "{\"error\":\"Invalid token\"}");
    ask(&r, "GET /sandbox/nothing", "Authorization: Bearer secret\r\n", "", 404, NULL);
    ask(&r, "GET /sandbox/openapi.json", "Authorization: secret\r\n", "", 200, NULL);
    ask(&r, "OPTIONS /sandbox/metrics",
        "Origin: http://a\r\nAccess-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: authorization\r\n",
        "", 200, "");
    CHECK(fixture_has(&r.f, "Access-Control-Allow-Methods: GET, POST, PUT, DELETE, OPTIONS\r\n"));
    CHECK(fixture_has(&r.f, "Access-Control-Allow-Headers: authorization\r\n"));
    rig_done(&r);
}

TEST(large_bodies_are_refused_by_their_head)
{
    struct rig r;
    rig_init(&r, "");
    int fd = fixture_connect(&r.f);
    fixture_say(fd, "POST /sandbox/sandboxes HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1048577\r\n\r\n");
    CHECK(fixture_wait(&r.f, fd,
                       "{\"error\":\"request body: 1048577 bytes, at most 1048576 are allowed (III_MAX_BODY_MB)\"}"));
    CHECK(fixture_has(&r.f, "HTTP/1.1 413 "));
    close(fd);
    fd = fixture_connect(&r.f);
    fixture_say(fd, "POST /sandbox/nothing HTTP/1.1\r\nHost: localhost\r\nContent-Length: 70000\r\n\r\n");
    CHECK(fixture_wait(&r.f, fd, "HTTP/1.1 404 "));
    close(fd);
    rig_done(&r);
}

TEST(rates_are_limited_with_retry_after)
{
    struct rig r;
    rig_init(&r, "");
    r.settings.rate_limit = true;
    for (int i = 0; i < 100; i++)
        ask(&r, "GET /sandbox/nothing", "Authorization: k\r\n", "", 404, NULL);
    /* 100 is the burst, 10 a second come back: some of the next 100 find the bucket empty. */
    bool is_limited = false;
    for (int i = 0; i < 100 && !is_limited; i++) {
        CHECK(fixture_exchange(
            &r.f, "GET /sandbox/nothing HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: k\r\n\r\n"));
        is_limited = fixture_has(&r.f, "HTTP/1.1 429 ");
    }
    CHECK(is_limited && fixture_has(&r.f, "Retry-After: 1\r\n") &&
          fixture_has(&r.f, "{\"error\":\"Rate limit exceeded\"}"));
    ask(&r, "GET /sandbox/health", "Authorization: k\r\n", "", 200, NULL);
    ask(&r, "GET /sandbox/nothing", "", "", 404, NULL);
    rig_done(&r);
}

static bool open_entry(void *arg, struct http_req *req)
{
    if (strcmp(http_req_path(req), "/door/pass") == 0)
        return false;
    http_req_reply(req, 200, "text/plain", arg, strlen(arg));
    return true;
}

TEST(side_entries_are_tried_first)
{
    static char word[] = "side";
    struct rig r;
    rig_init(&r, "secret");
    api_add_path(r.api, "/door/", open_entry, word, true);
    api_add_path(r.api, "/free", open_entry, word, false);
    ask(&r, "GET /door/x", "", "", 401, NULL);
    ask(&r, "GET /door/x", "Authorization: secret\r\n", "", 200, "side");
    ask(&r, "GET /door/pass", "Authorization: secret\r\n", "", 404, NULL);
    ask(&r, "GET /free/x", "", "", 200, "side");
    rig_done(&r);
}

/* A call that a test holds in its own hands. */
struct held {
    struct rig *rig;
    struct call *call;
    unsigned n_cancelled;
};

static bool hold_call(void *arg, struct http_req *req)
{
    struct held *h = arg;
    h->call = call_new(h->rig->api, &spec_ops[OP_ID_cmd_run_stream], json_object(), req, NULL);
    return true;
}

static void on_cancel(void *arg)
{
    struct held *h = arg;
    h->n_cancelled++;
}

TEST(streams_are_server_sent_events)
{
    struct rig r;
    struct held h = { .rig = &r };
    rig_init(&r, "");
    api_add_path(r.api, "/held", hold_call, &h, false);
    int fd = fixture_connect(&r.f);
    fixture_say(fd, "GET /held HTTP/1.1\r\nHost: localhost\r\n\r\n");
    LOOPTURN_UNTIL(r.f.loop, h.call);
    CHECK(h.call != NULL);
    call_stream_begin(h.call);
    (void)call_stream_event(h.call, json_pack("{s:s}", "type", "stdout"), NULL);
    call_stream_comment(h.call, "ping");
    CHECK(fixture_wait(&r.f, fd, ": ping\n\n"));
    CHECK(fixture_has(&r.f, "Content-Type: text/event-stream\r\n") && fixture_has(&r.f, "Cache-Control: no-cache\r\n"));
    CHECK(fixture_has(&r.f, "Connection: keep-alive\r\n") && fixture_has(&r.f, "data: {\"type\":\"stdout\"}\n\n"));
    call_error(h.call, ERR_TIMEOUT, "too late");
    CHECK(fixture_wait(&r.f, fd, "\r\n0\r\n\r\n"));
    CHECK(fixture_has(&r.f, "data: {\"type\":\"error\",\"error\":\"too late\",\"code\":\"timed_out\",\"timestamp\":"));
    CHECK_STR(r.traces, "cmd::run-stream - 504");
    close(fd);
    rig_done(&r);
}

TEST(a_client_that_leaves_cancels_its_call_once)
{
    struct rig r;
    struct held h = { .rig = &r };
    rig_init(&r, "");
    api_add_path(r.api, "/held", hold_call, &h, false);
    int fd = fixture_connect(&r.f);
    fixture_say(fd, "GET /held HTTP/1.1\r\nHost: localhost\r\n\r\n");
    LOOPTURN_UNTIL(r.f.loop, h.call);
    CHECK(h.call != NULL);
    CHECK_INT(api_calls_running(r.api), 1);
    call_on_cancel(h.call, on_cancel, &h);
    close(fd);
    LOOPTURN_UNTIL(r.f.loop, h.n_cancelled);
    CHECK_INT(h.n_cancelled, 1);
    CHECK(call_is_cancelled(h.call));
    call_ok(h.call, json_object()); /* goes nowhere */
    CHECK_INT(h.n_cancelled, 1);
    CHECK_INT(api_calls_running(r.api), 0);
    rig_done(&r);
}

TEST(requests_at_the_same_time_are_bounded)
{
    struct rig r;
    rig_init(&r, "");
    r.api->n_http = API_HTTP_MAX - 1;
    ask(&r, "GET /sandbox/health", "", "", 200, NULL);
    r.api->n_http = API_HTTP_MAX;
    ask(&r, "GET /sandbox/health", "", "", 503,
        "{\"error\":\"limit of 2048 concurrent requests, or 512 of one tenant, reached: try again\"}");
    r.api->n_http = 0;
    share_add(r.api->http_share, "", API_HTTP_MAX); /* of the caller's own tenant */
    ask(&r, "GET /sandbox/metrics", "", "", 503, NULL);
    share_give(r.api->http_share, "", API_HTTP_MAX);
    rig_done(&r);
}

static void on_done(void *arg, int status, json_t *body)
{
    CLEANUP(free_p) char *text = json_write(body, NULL);
    (void)snprintf(arg, 256, "%d %s", status, text);
}

TEST(operations_run_without_http)
{
    struct rig r;
    char got[256] = "";
    rig_init(&r, "secret");
    call_run(r.api, OP_ID_health, NULL, NULL, on_done, got);
    CHECK_STR(got, "200 {\"status\":\"healthy\"}");
    JSON_OWNED params = json_pack("{s:s, s:n}", "id", "x", "command");
    call_run(r.api, OP_ID_cmd_run, params, NULL, on_done, got);
    CHECK_STR(got, "400 {\"error\":\"command is required\"}");
    CHECK_INT(json_object_size(params), 2); /* the caller's object is as it was */
    rig_done(&r);
}

int main(void)
{
    RUN(answers_and_refuses_in_the_contracts_shapes);
    RUN(tokens_come_before_routes);
    RUN(large_bodies_are_refused_by_their_head);
    RUN(rates_are_limited_with_retry_after);
    RUN(side_entries_are_tried_first);
    RUN(streams_are_server_sent_events);
    RUN(a_client_that_leaves_cancels_its_call_once);
    RUN(requests_at_the_same_time_are_bounded);
    RUN(operations_run_without_http);
    return tap_done();
}
