/* A short-lived client of the engine on its own loop. struct wire owns the loop, the WebSocket, the map of calls in
 * progress (invocation id to the caller's struct wire_answer) and a timer. wire_open() retries while nothing listens,
 * until patience_ms is over; a refusal (bad token) is final. wire_wait() runs the loop until its condition, the
 * timeout, an interrupt or the end of the connection, whichever comes first. When the connection ends, `why` keeps the
 * reason and every later wait fails with -ECONNRESET; calls in progress are not repeated. */
#include "cli/engine_client.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/uuid.h"
#include "cli/display.h"

enum { MESSAGE_MAX = 64 * 1024 * 1024, AGAIN_MS = 200, HANDSHAKE_MS = 10000, HEADER_MAX = 8192 };

struct wire {
    struct loop *loop;
    struct ws *ws; /* NULL: not connected */
    struct timer *alarm, *redial;
    struct map *asked; /* invocation id -> struct wire_answer */
    char *url, *host;
    uint16_t port;
    struct tls_context_trust trust;
    bool has_handshake, is_lost, is_late, is_interrupted;
    char why[400]; /* reason of the engine or the network when the connection ended */
};

struct loop *wire_loop(struct wire *w)
{
    return w->loop;
}

void wire_wake(struct wire *w)
{
    loop_stop(w->loop);
}

/* --- messages --- */

void wire_answer_done(struct wire_answer *a)
{
    json_decref(a->result);
    json_decref(a->error);
    *a = (struct wire_answer){ 0 };
}

static void wire_message(void *arg, struct ws *ws, bool is_text, const char *data, size_t len)
{
    struct wire *w = arg;
    JSON_OWNED message = NULL;
    (void)ws, (void)is_text;
    if (json_read(data, len, &message, NULL) < 0)
        return;
    const char *type = json_get_str(message, "type", "");
    if (strcmp(type, "workerregistered") == 0) {
        w->has_handshake = true;
        wire_wake(w);
    } else if (strcmp(type, "error") == 0) {
        (void)snprintf(w->why, sizeof(w->why), "%s", json_get_str(json_get(message, "error"), "message", "refused"));
    } else if (strcmp(type, "invocationresult") == 0) {
        struct wire_answer *a = map_remove(w->asked, json_get_str(message, "invocation_id", ""));
        if (!a)
            return;
        a->error = json_incref(json_get(message, "error"));
        a->result = a->error ? NULL : json_incref(json_get(message, "result"));
        a->is_there = true;
        display_warnings(json_get(message, "warnings")); /* of a result that is not an object */
        wire_wake(w);
    }
}

static void wire_closed(void *arg, struct ws *ws, int code, const char *reason)
{
    struct wire *w = arg;
    (void)ws;
    w->ws = NULL;
    w->is_lost = true;
    if (!*w->why)
        (void)snprintf(w->why, sizeof(w->why), "%s%s%s", code == 1006 ? "" : "closed",
                       code != 1006 && reason && *reason ? ": " : "", reason ? reason : "");
    wire_wake(w);
}

static const struct ws_events engine_events = { .on_message = wire_message, .on_close = wire_closed };

/* --- connecting --- */

static int dial(struct wire *w, struct err *err)
{
    char header[HEADER_MAX];
    const char *own = getenv("III_ENGINE_TOKEN"), *token = own && *own ? own : getenv("III_AUTH_TOKEN");
    const char *headers[] = { token && *token ? header : NULL, NULL };
    (void)snprintf(header, sizeof(header), "Authorization: Bearer %s", token ? token : "");
    w->is_lost = false;
    w->why[0] = '\0';
    const struct ws_target to = {
        .url = w->url, .headers = headers, .message_max = MESSAGE_MAX, .trust = &w->trust, .rule = outgoing_any
    };
    return ws_dial(w->loop, &to, &engine_events, w, &w->ws, err);
}

/* Describes this client to the engine; there is no reply. */
static void wire_register(struct wire *w, const char *name)
{
    struct utsname host;
    const char *os = uname(&host) == 0 ? host.sysname : "linux";
    JSON_OWNED handshake = json_pack("{s:s, s:s, s:{s:s}, s:{s:s, s:s, s:i, s:s}}", "type", "invokefunction",
                                     "function_id", "engine::workers::register", "action", "type", "void", "data",
                                     "name", name, "runtime", "c", "pid", (int)getpid(), "os", os);
    size_t len;
    CLEANUP(free_p) char *text = json_write(handshake, &len);
    (void)ws_send(w->ws, true, text, len);
}

static void wire_alarm(void *arg)
{
    struct wire *w = arg;
    w->is_late = true;
    wire_wake(w);
}

static void wire_redial(void *arg)
{
    wire_wake(arg);
}

static int connect_engine(struct wire *w, const struct wire_where *where, struct err *err)
{
    int64_t end_ms = clock_mono_us() / 1000 + where->patience_ms;
    for (;;) {
        int r = dial(w, err);
        if (r < 0)
            return r;
        r = wire_wait(w, &w->has_handshake, HANDSHAKE_MS, NULL);
        if (r == 0) {
            wire_register(w, where->name);
            return 0;
        }
        if (w->ws)
            ws_drop(STEAL(w->ws));
        /* A refusal is final; a port without a listener is tried again. */
        if (strstr(w->why, "refused: HTTP") || strstr(w->why, "token") || strstr(w->why, "certificate") ||
            strstr(w->why, "TLS"))
            return err_set(
                err, ERR_UNAUTHORIZED, 0,
                "the engine at %s:%u refused the connection: %s; III_ENGINE_TOKEN or III_AUTH_TOKEN is the token",
                w->host, w->port, w->why);
        if (clock_mono_us() / 1000 + AGAIN_MS >= end_ms)
            return err_set(
                err, ERR_TIMEOUT, 0,
                "the engine is not running on port %u of %s%s%s; `iii serve` starts one, --port, --address or "
                "III_URL names another",
                w->port, w->host, *w->why ? ": " : "", w->why);
        timer_set(w->redial, AGAIN_MS, 0);
        loop_run(w->loop);
    }
}

int wire_open(const struct wire_where *where, struct wire **ret, struct err *err)
{
    struct wire *w = xzalloc(sizeof(*w));
    bool is_v6 = strchr(where->host, ':') != NULL;
    (void)signal(SIGPIPE, SIG_IGN);
    w->host = xstrdup(where->host);
    w->port = where->port;
    w->trust = where->trust;
    w->url = xasprintf("ws%s://%s%s%s:%u/", where->is_secure ? "s" : "", is_v6 ? "[" : "", where->host,
                       is_v6 ? "]" : "", where->port);
    w->asked = map_new();
    int r = loop_new(&w->loop, err);
    if (r == 0) {
        w->alarm = timer_new(w->loop, -1, 0, wire_alarm, w);
        w->redial = timer_new(w->loop, -1, 0, wire_redial, w);
        r = connect_engine(w, where, err);
    }
    if (r < 0)
        wire_close(w);
    else
        *ret = w;
    return r;
}

struct wire *wire_close(struct wire *w)
{
    if (!w)
        return NULL;
    if (w->ws && !w->is_lost)
        ws_drop(w->ws);
    if (w->loop) {
        timer_free(w->alarm);
        timer_free(w->redial);
        loop_free(w->loop);
    }
    map_free(w->asked);
    free(w->url);
    free(w->host);
    free(w);
    return NULL;
}

/* --- calls --- */

void wire_ask(struct wire *w, const char *function, const json_t *payload, const char *name_space,
              struct wire_answer *a)
{
    char id[UUID_MAX];
    size_t len;
    uuid_new(id);
    *a = (struct wire_answer){ 0 };
    JSON_OWNED message = json_pack("{s:s, s:s, s:s, s:O, s:s*}", "type", "invokefunction", "invocation_id", id,
                                   "function_id", function, "data", payload, "namespace", name_space);
    CLEANUP(free_p) char *text = message ? json_write(message, &len) : NULL;
    if (!text) { /* the function's name is not UTF-8 */
        a->error = json_pack("{s:s, s:s}", "code", "function_not_found", "message", "a function's id is UTF-8 text");
        a->is_there = true;
        return;
    }
    map_set(w->asked, id, a);
    if (w->ws)
        (void)ws_send(w->ws, true, text, len);
}

void wire_forget(struct wire *w, struct wire_answer *a)
{
    for (struct map_iter it = map_iter(w->asked); map_next(&it);)
        if (it.value == a)
            (void)map_remove(w->asked, it.key);
}

int wire_wait(struct wire *w, const bool *until, int64_t timeout_ms, struct err *err)
{
    w->is_late = false;
    if (timeout_ms >= 0)
        timer_set(w->alarm, timeout_ms, 0);
    while (!*until && !w->is_late && !w->is_lost && !w->is_interrupted)
        loop_run(w->loop);
    timer_set(w->alarm, -1, 0);
    if (*until)
        return 0;
    if (w->is_interrupted)
        return -EINTR;
    if (!w->is_lost)
        return err_set(err, ERR_TIMEOUT, 0, "no response within %lld ms", (long long)timeout_ms);
    (void)err_set(err, ERR_UPSTREAM, 0, "WebSocket error: %s", *w->why ? w->why : "the engine closed the connection");
    return -ECONNRESET;
}

static void wire_signal(void *arg)
{
    struct wire *w = arg;
    w->is_interrupted = true;
    wire_wake(w);
}

void wire_on_interrupt(struct wire *w)
{
    (void)loop_on_signal(w->loop, SIGINT, wire_signal, w);
    (void)loop_on_signal(w->loop, SIGTERM, wire_signal, w);
}

void wire_calm(struct wire *w)
{
    w->is_interrupted = false;
}

int wire_call(struct wire *w, const char *function, const json_t *payload, int64_t timeout_ms, struct wire_answer *a,
              struct err *err)
{
    wire_ask(w, function, payload, NULL, a);
    int r = wire_wait(w, &a->is_there, timeout_ms, err);
    if (r < 0)
        wire_forget(w, a);
    return r;
}

/* --- channels --- */

/* Ids and keys come from the engine: letters, digits and hyphens, nothing that would change the address. */
static bool is_plain(const char *s)
{
    return *s && strspn(s, "0123456789abcdefABCDEFghijklmnopqrstuvwxyzGHIJKLMNOPQRSTUVWXYZ-_.") == strlen(s);
}

int wire_channel(struct wire *w, const json_t *ref, const struct ws_events *events, void *arg, struct ws **ret,
                 struct err *err)
{
    const char *id = json_get_str(ref, "channel_id", ""), *key = json_get_str(ref, "access_key", "");
    const char *direction = json_get_str(ref, "direction", "");
    if (!is_plain(id) || !is_plain(key) || !is_plain(direction))
        return err_set(err, ERR_INTERNAL, 0, "the engine returned no usable channel");
    CLEANUP(free_p) char *url = xasprintf("%sws/channels/%s?key=%s&dir=%s", w->url, id, key, direction);
    const struct ws_target to = { .url = url, .message_max = MESSAGE_MAX, .trust = &w->trust, .rule = outgoing_any };
    return ws_dial(w->loop, &to, events, arg, ret, err);
}
