/* Theory of operation. A POST brings one message. If its reply is the first thing to send, it is sent as plain JSON; a
 * notification (progress) or a keep-alive before it turns the response into an event stream, which the reply ends. A
 * client that disconnects cancels its requests. GET holds a stream open for a session, on which this server sends
 * keep-alives and the notifications of resources/subscribe.
 *
 * A stream of a session (from 2025-11-25 on) has event ids, so that a client whose connection broke can resume it: the
 * post is detached, its requests continue, and a GET with Last-Event-ID attaches it again. What was missed is the reply
 * if there is one; progress that was missed is out of date. A detached post is dropped after a minute.
 *
 * struct mcp_http owns the sessions; each belongs to one caller, is bounded in number and removed when unused for a
 * while, when its token is revoked, or by DELETE. A session of another caller and an unknown one are both 404. */
#include "mcp/mcp_http.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/queue.h>

#include "base/alloc.h"
#include "base/ident.h"
#include "base/map.h"
#include "http/url.h"
#include "mcp/mcp_session.h"

#define CHOICE_MAX   4096
#define JSON_TYPE    "application/json"
#define EVENT_TYPE   "text/event-stream"
#define NO_SESSION   (-32001)
#define PIECE_BYTES  262144 /* of a response that are queued at once */
#define OUT_MAX      ((size_t)512 << 20)
#define DETACHED_MS  60000 /* for a client to come back */
#define DETACHED_MAX 8     /* posts of one session that wait for their client */

struct session {
    struct mcp_http *http;
    char id[IDENT_MAX], *owner, *tenant; /* id "": for one message only, not in the map */
    struct mcp_session *core;
    struct mcp_backend *back;
    struct http_req *stream; /* of GET, or NULL */
    bool is_full;            /* the stream has more queued than its client reads */
    int64_t used_ms;
};

/* One POST that is not answered yet. */
struct post {
    LIST_ENTRY(post) entry;
    struct mcp_http *http;
    struct session *session; /* NULL: it is gone, and the answer is still being sent */
    bool is_alone;           /* the session is for this message only */
    struct http_req *req;    /* NULL: detached, its connection broke */
    struct mcp_exchange *exchange;
    json_t *answer;  /* while it may still be plain JSON, or be sent again */
    struct buf rest; /* events for the connection */
    size_t sent;     /* of them */
    bool is_stream, has_ended;
    bool wants_json; /* it does not accept a stream: notifications are dropped */
    bool is_resumable;
    uint64_t number, n_events; /* its events have the ids NUMBER-COUNT */
    int64_t detached_ms;
};

struct mcp_http {
    struct loop *loop;
    struct mcp_http_host host;
    struct map *sessions; /* id to struct session */
    LIST_HEAD(post_list, post) posts;
    struct timer *pings;
    uint64_t n_posts;
};

/* --- answers that need no session --- */

static void reply_json(struct http_req *r, int status, const json_t *body)
{
    size_t len;
    CLEANUP(free_p) char *text = json_write(body, &len);
    http_req_reply(r, status, JSON_TYPE, text, len);
}

static void refuse(struct http_req *r, int status, int code, const char *text)
{
    JSON_OWNED body = mcp_session_error(NULL, code, text);
    reply_json(r, status, body);
}

static bool is_loopback(const char *origin)
{
    static const char *const hosts[] = { "localhost", "127.0.0.1", "[::1]" };
    const char *host = strncmp(origin, "http://", 7) == 0    ? origin + 7
                       : strncmp(origin, "https://", 8) == 0 ? origin + 8
                                                             : NULL;
    for (size_t i = 0; host && i < sizeof(hosts) / sizeof(hosts[0]); i++) {
        size_t len = strlen(hosts[i]);
        const char *port = host + len;
        if (strncasecmp(host, hosts[i], len) == 0 &&
            (!*port || (*port == ':' && !port[1 + strspn(port + 1, "0123456789")])))
            return true;
    }
    return false;
}

bool mcp_http_allows(const char *origin, const char *origins)
{
    if (!origin || is_loopback(origin))
        return true;
    size_t len = strlen(origin);
    for (const char *at = origins; *at; at += *at == ',') {
        at += strspn(at, " ");
        size_t n = strcspn(at, ", ");
        if ((n == 1 && *at == '*') || (n == len && strncasecmp(at, origin, len) == 0))
            return true;
        at += strcspn(at, ",");
    }
    return false;
}

/* --- sessions --- */

static void post_free(struct post *p);

static void session_free(struct session *s)
{
    struct mcp_http *h = s->http;
    if (*s->id)
        (void)map_remove(h->sessions, s->id);
    s->core = mcp_session_free(s->core); /* its posts are answered */
    struct post *p, *next;
    for (p = LIST_FIRST(&h->posts); p; p = next) {
        next = LIST_NEXT(p, entry);
        if (p->session != s)
            continue;
        p->session = NULL;
        if (!p->req)
            post_free(p);
    }
    if (s->stream) {
        http_req_on_gone(s->stream, NULL, NULL);
        http_req_on_drain(s->stream, NULL, NULL);
        http_req_end(s->stream);
        (void)http_req_unref(s->stream);
    }
    h->host.close(h->host.arg, s->back);
    free(s->owner);
    free(s->tenant);
    free(s);
}

static bool is_idle(const struct session *s)
{
    return mcp_session_running(s->core) == 0 && !s->stream;
}

/* The idle session that was used the longest time ago, of one owner and tenant (NULL: of all). */
static struct session *oldest_idle(const struct mcp_http *h, const char *owner, const char *tenant, size_t *ret_count)
{
    struct session *oldest = NULL;
    *ret_count = 0;
    for (struct map_iter it = map_iter(h->sessions); map_next(&it);) {
        struct session *s = it.value;
        if ((owner && strcmp(s->owner, owner) != 0) || (tenant && strcmp(s->tenant, tenant) != 0))
            continue;
        (*ret_count)++;
        if (is_idle(s) && (!oldest || s->used_ms < oldest->used_ms))
            oldest = s;
    }
    return oldest;
}

/* False: all sessions are in use. */
static bool make_room(struct mcp_http *h, const struct mcp_http_from *from)
{
    const struct {
        const char *owner, *tenant;
        size_t max;
    } bounds[] = { { from->owner, NULL, MCP_HTTP_OWNER_MAX },
                   { NULL, *from->tenant ? from->tenant : NULL,
                     *from->tenant ? MCP_HTTP_TENANT_MAX : MCP_HTTP_SESSIONS_MAX },
                   { NULL, NULL, MCP_HTTP_SESSIONS_MAX } };
    for (size_t i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++) {
        size_t count;
        struct session *s = oldest_idle(h, bounds[i].owner, bounds[i].tenant, &count);
        if (count < bounds[i].max)
            continue;
        if (!s)
            return false;
        session_free(s);
    }
    return true;
}

/* A notification that belongs to no request goes to the session's stream; without one, or with one that its client does
 * not read, it is dropped. */
static void on_session_note(void *arg, const json_t *message)
{
    struct session *s = arg;
    CLEANUP(free_p) char *text = json_write(message, NULL);
    CLEANUP(free_p) char *event = xasprintf("event: message\ndata: %s\n\n", text);
    if (!s->stream || s->is_full)
        return;
    s->is_full = http_req_send(s->stream, event, strlen(event)) > PIECE_BYTES;
}

static void on_stream_drain(void *arg)
{
    struct session *s = arg;
    s->is_full = false;
}

static struct session *session_new(struct mcp_http *h, const struct http_req *r, const struct mcp_http_from *from,
                                   bool is_kept)
{
    CLEANUP(buf_done) struct buf choice = BUF_INIT(CHOICE_MAX);
    struct session *s = xzalloc(sizeof(*s));
    s->http = h;
    s->owner = xstrdup(from->owner);
    s->tenant = xstrdup(from->tenant);
    s->back = h->host.open(h->host.arg, from->caller);
    s->core = mcp_session_new(h->loop, s->back);
    s->used_ms = loop_now_ms(h->loop);
    if (url_query_get(http_req_query(r), "tools", &choice) == 1)
        mcp_session_choose(s->core, buf_text(&choice));
    if (is_kept) {
        ident_new("mcp", s->id);
        map_set(h->sessions, s->id, s);
        mcp_session_on_notes(s->core, &(struct mcp_session_sink){ .send = on_session_note, .arg = s });
    }
    return s;
}

/* NULL: answered. */
static struct session *find_session(struct mcp_http *h, struct http_req *r, const char *owner)
{
    const char *id = http_req_header(r, "mcp-session-id"), *version = http_req_header(r, "mcp-protocol-version");
    struct session *s = id ? map_get(h->sessions, id) : NULL;
    if (version && !mcp_session_knows(version)) {
        refuse(r, 400, MCP_SESSION_BUSY, "MCP-Protocol-Version: this server does not speak that version");
        return NULL;
    }
    if (!id) {
        refuse(r, 400, MCP_SESSION_BUSY, "Mcp-Session-Id: the header is missing; initialize gives one");
        return NULL;
    }
    if (!s || strcmp(s->owner, owner) != 0) {
        refuse(r, 404, NO_SESSION, "Session not found: initialize again");
        return NULL;
    }
    s->used_ms = loop_now_ms(h->loop);
    return s;
}

/* --- a post's answer --- */

static void post_release(struct post *p)
{
    if (!p->req)
        return;
    http_req_on_gone(p->req, NULL, NULL);
    http_req_on_drain(p->req, NULL, NULL);
    (void)http_req_unref(STEAL(p->req));
}

static void post_free(struct post *p)
{
    struct session *s = p->session;
    bool is_alone = p->is_alone;
    LIST_REMOVE(p, entry);
    if (p->exchange)
        mcp_session_leave(STEAL(p->exchange)); /* no client waits for it any more */
    post_release(p);
    json_decref(p->answer);
    buf_done(&p->rest);
    free(p);
    if (is_alone)
        session_free(s);
}

/* Queues pieces up to the connection's limit; the rest follows when it has drained. */
static void pump(void *arg)
{
    struct post *p = arg;
    size_t queued = 0;
    while (p->sent < p->rest.len && queued <= PIECE_BYTES) {
        size_t left = p->rest.len - p->sent, piece = left < PIECE_BYTES ? left : PIECE_BYTES;
        queued = http_req_send(p->req, p->rest.data + p->sent, piece);
        p->sent += piece;
    }
    if (p->sent > p->rest.len / 2) { /* not with each piece: the rest is moved */
        buf_consume(&p->rest, p->sent);
        p->sent = 0;
    }
    if (p->has_ended && p->rest.len == 0) {
        http_req_end(p->req);
        post_free(p);
    }
}

/* Queues an event; message NULL: one without data, for its id. */
static void add_event(struct post *p, const json_t *message)
{
    size_t len = 0;
    CLEANUP(free_p) char *text = message ? json_write(message, &len) : NULL;
    int r = p->is_resumable ? buf_addf(&p->rest, "id: %" PRIu64 "-%" PRIu64 "\n", p->number, ++p->n_events) : 0;
    if (r < 0 || buf_add_str(&p->rest, "event: message\ndata: ") < 0 || buf_add(&p->rest, text ? text : "", len) < 0 ||
        buf_add_str(&p->rest, "\n\n") < 0)
        p->sent = p->rest.len; /* no memory for it: the stream ends without the answer */
}

static void begin_stream(struct post *p)
{
    if (p->is_stream)
        return;
    p->is_stream = true;
    http_req_add_header(p->req, "Cache-Control", "no-cache");
    http_req_begin(p->req, 200, EVENT_TYPE, -1);
    http_req_on_drain(p->req, pump, p);
    if (p->is_resumable)
        add_event(p, NULL);
}

static void on_message(void *arg, const json_t *message)
{
    struct post *p = arg;
    bool is_note = json_get(message, "method") != NULL;
    if (is_note && p->wants_json)
        return;
    if (!is_note && (!p->is_stream || p->is_resumable))
        p->answer = json_incref((json_t *)(uintptr_t)message); /* nothing changes it any more */
    if (!p->req || (!is_note && !p->is_stream))
        return;
    begin_stream(p);
    add_event(p, message);
    if (is_note) /* the answer is sent with the end */
        pump(p);
}

static void on_end(void *arg)
{
    struct post *p = arg;
    p->exchange = NULL;
    p->has_ended = true;
    if (!p->req) { /* its answer waits for the client; a cancelled one has none */
        if (!p->answer)
            post_free(p);
        return;
    }
    if (p->is_stream) {
        pump(p);
        return;
    }
    /* Errors of the protocol are errors of HTTP, too, where the revision says so. */
    int64_t code = p->is_alone ? json_get_int(json_get(p->answer, "error"), "code", 0) : 0;
    int status = code == MCP_SESSION_VERSION ? 400 : code == MCP_SESSION_NO_METHOD ? 404 : 200;
    if (p->answer)
        reply_json(p->req, status, p->answer);
    else
        http_req_reply(p->req, 202, JSON_TYPE, "", 0); /* notifications only, or cancelled */
    post_free(p);
}

static bool has_room_to_wait(const struct session *s)
{
    const struct post *p;
    unsigned n = 0;
    LIST_FOREACH(p, &s->http->posts, entry)
    {
        n += p->session == s && !p->req;
    }
    return n < DETACHED_MAX;
}

static void on_post_gone(void *arg)
{
    struct post *p = arg;
    if (!p->is_resumable || !p->is_stream || !p->session || !has_room_to_wait(p->session)) {
        post_free(p);
        return;
    }
    post_release(p);
    buf_clear(&p->rest);
    p->sent = 0;
    p->detached_ms = loop_now_ms(p->http->loop);
}

/* A GET with the id of an event: the stream that had it continues on this connection. */
static void resume(struct session *s, struct http_req *r, const char *last_id)
{
    uint64_t number = strtoull(last_id, NULL, 10);
    struct post *p = LIST_FIRST(&s->http->posts);
    while (p && (p->session != s || p->number != number || p->req))
        p = LIST_NEXT(p, entry);
    if (!p) {
        refuse(r, 400, MCP_SESSION_BUSY,
               "Last-Event-ID: no stream of this session waits to be resumed after that event");
        return;
    }
    p->req = http_req_ref(r);
    p->is_stream = false;
    begin_stream(p);
    http_req_on_gone(r, on_post_gone, p);
    if (p->has_ended)
        add_event(p, p->answer);
    pump(p);
}

static bool has_word(const char *header, const char *word)
{
    return header && strcasestr(header, word);
}

/* The headers must agree with the message: a proxy that routes by headers must not be misled. */
static bool check_headers(struct http_req *r, const json_t *message, const char *version)
{
    const json_t *params = json_get(message, "params");
    const char *method = json_get_str(message, "method", ""), *shown = http_req_header(r, "mcp-method"),
               *header = http_req_header(r, "mcp-protocol-version"), *name = http_req_header(r, "mcp-name");
    bool is_named = strcmp(method, "tools/call") == 0 || strcmp(method, "prompts/get") == 0;
    const char *meant = is_named                                ? json_get_str(params, "name", "")
                        : strcmp(method, "resources/read") == 0 ? json_get_str(params, "uri", "")
                                                                : NULL;
    const char *wrong = !header || strcmp(header, version) != 0        ? "MCP-Protocol-Version"
                        : !shown || strcmp(shown, method) != 0         ? "Mcp-Method"
                        : meant && (!name || strcmp(name, meant) != 0) ? "Mcp-Name"
                                                                       : NULL;
    char text[128];
    if (!wrong)
        return true;
    (void)snprintf(text, sizeof(text), "%s: the header is missing, or says something else than the message", wrong);
    JSON_OWNED body = mcp_session_error(json_get(message, "id"), MCP_SESSION_HEADERS, text);
    reply_json(r, 400, body);
    return false;
}

static bool check_meta(struct http_req *r, const json_t *message)
{
    const char *fault = mcp_session_is_request(message, NULL) ? mcp_session_meta_fault(message) : NULL;
    if (!fault)
        return true;
    JSON_OWNED body = mcp_session_error(json_get(message, "id"), MCP_SESSION_PARAMS, fault);
    reply_json(r, 400, body);
    return false;
}

/* A message of the revision without sessions says so itself; one that fails to is known by the header. */
static bool is_sessionless(const struct http_req *r, const json_t *message)
{
    const char *header = http_req_header(r, "mcp-protocol-version");
    return mcp_session_stated_version(message) ||
           (json_is_object(message) && header && strcmp(header, MCP_SESSION_NEWEST) == 0 &&
            !http_req_header(r, "mcp-session-id"));
}

/* A session to take the message, or NULL: answered. */
static struct session *session_for(struct mcp_http *h, struct http_req *r, const json_t *message,
                                   const struct mcp_http_from *from)
{
    if (is_sessionless(r, message)) {
        const char *stated = mcp_session_stated_version(message);
        bool is_newest = !stated || strcmp(stated, MCP_SESSION_NEWEST) == 0;
        bool is_good = stated ? check_headers(r, message, stated) : true;
        return is_good && (!is_newest || check_meta(r, message)) ? session_new(h, r, from, false) : NULL;
    }
    if (!mcp_session_is_request(message, "initialize"))
        return find_session(h, r, from->owner);
    if (!make_room(h, from)) {
        refuse(r, 503, MCP_SESSION_BUSY, "all sessions are in use: end one with DELETE, or try again");
        return NULL;
    }
    struct session *s = session_new(h, r, from, true);
    http_req_add_header(r, "Mcp-Session-Id", s->id);
    return s;
}

static void serve_post(struct mcp_http *h, struct http_req *r, const struct mcp_http_from *from)
{
    struct err err = ERR_INIT;
    JSON_OWNED message = NULL;
    size_t len;
    const char *body = http_req_body(r, &len);
    if (!has_word(http_req_header(r, "content-type"), JSON_TYPE)) {
        refuse(r, 415, MCP_SESSION_INVALID, "Content-Type: application/json is needed");
        return;
    }
    if (len > MCP_SESSION_MESSAGE_MAX) {
        refuse(r, 413, MCP_SESSION_INVALID, "a message has at most 32 MiB");
        return;
    }
    if (json_read_input(body, len, &message, &err) < 0) {
        refuse(r, 400, MCP_SESSION_PARSE, err.msg);
        return;
    }
    if (!has_word(http_req_header(r, "accept"), EVENT_TYPE) &&
        mcp_session_is_request(message, "subscriptions/listen")) {
        refuse(r, 406, MCP_SESSION_BUSY, "Accept: subscriptions/listen is answered with text/event-stream");
        return;
    }
    struct session *s = session_for(h, r, message, from);
    if (!s)
        return;
    struct post *p = xzalloc(sizeof(*p));
    *p = (struct post){ .http = h, .session = s, .req = http_req_ref(r), .rest = BUF_INIT(OUT_MAX) };
    p->wants_json = !has_word(http_req_header(r, "accept"), EVENT_TYPE);
    p->is_alone = !*s->id;
    p->is_resumable = *s->id && strcmp(mcp_session_version(s->core), MCP_SESSION_STATEFUL) == 0;
    p->number = ++h->n_posts;
    LIST_INSERT_HEAD(&h->posts, p, entry);
    const struct mcp_session_sink sink = {
        .send = on_message, .end = on_end, .arg = p, .traceparent = http_req_header(r, "traceparent")
    };
    struct mcp_exchange *x = mcp_session_take(s->core, message, &sink);
    if (!x)
        return; /* p is gone */
    p->exchange = x;
    http_req_on_gone(r, on_post_gone, p);
}

/* --- GET --- */

static void on_stream_gone(void *arg)
{
    struct session *s = arg;
    (void)http_req_unref(STEAL(s->stream));
    s->used_ms = loop_now_ms(s->http->loop);
}

static void serve_get(struct mcp_http *h, struct http_req *r, const char *owner)
{
    struct session *s;
    if (!has_word(http_req_header(r, "accept"), EVENT_TYPE)) {
        refuse(r, 406, MCP_SESSION_BUSY, "Accept: text/event-stream is needed");
        return;
    }
    s = find_session(h, r, owner);
    if (!s)
        return;
    const char *last_id = http_req_header(r, "last-event-id");
    if (last_id) {
        resume(s, r, last_id);
        return;
    }
    if (s->stream) {
        refuse(r, 409, MCP_SESSION_BUSY, "this session has a stream already: one is enough");
        return;
    }
    s->stream = http_req_ref(r);
    http_req_on_gone(r, on_stream_gone, s);
    http_req_add_header(r, "Cache-Control", "no-cache");
    http_req_begin(r, 200, EVENT_TYPE, -1);
    http_req_on_drain(r, on_stream_drain, s);
    s->is_full = false;
    (void)http_req_send(r, ": open\n\n", 8);
}

void mcp_http_serve(struct mcp_http *h, struct http_req *r, const struct mcp_http_from *from)
{
    const char *method = http_req_method(r);
    http_req_add_header(r, "Access-Control-Expose-Headers", "Mcp-Session-Id");
    if (!mcp_http_allows(http_req_header(r, "origin"), h->host.origins))
        refuse(r, 403, MCP_SESSION_BUSY, "Origin: pages from there may not call; III_MCP_ORIGINS names those that may");
    else if (strcmp(method, "POST") == 0)
        serve_post(h, r, from);
    else if (strcmp(method, "GET") == 0)
        serve_get(h, r, from->owner);
    else if (strcmp(method, "DELETE") == 0) {
        struct session *s = find_session(h, r, from->owner);
        if (!s)
            return;
        session_free(s);
        http_req_reply(r, 200, JSON_TYPE, "", 0);
    } else {
        http_req_add_header(r, "Allow", "GET, POST, DELETE");
        refuse(r, 405, MCP_SESSION_BUSY, "this address takes GET, POST and DELETE");
    }
}

/* --- the whole --- */

static void on_ping(void *arg)
{
    static const char sign[] = ": ping\n\n";
    struct mcp_http *h = arg;
    int64_t now_ms = loop_now_ms(h->loop);
    struct post *p, *next;
    for (p = LIST_FIRST(&h->posts); p; p = next) {
        next = LIST_NEXT(p, entry);
        if (!p->req && now_ms - p->detached_ms > DETACHED_MS) {
            post_free(p);
            continue;
        }
        if (!p->req || p->wants_json || p->has_ended)
            continue;
        begin_stream(p);
        (void)buf_add_str(&p->rest, sign);
        pump(p);
    }
    for (struct map_iter it = map_iter(h->sessions); map_next(&it);) {
        struct session *s = it.value;
        if (s->stream)
            (void)http_req_send(s->stream, sign, strlen(sign));
        else if (is_idle(s) && now_ms - s->used_ms > MCP_HTTP_IDLE_MS)
            session_free(s);
    }
}

struct mcp_http *mcp_http_new(struct loop *l, const struct mcp_http_host *host)
{
    struct mcp_http *h = xzalloc(sizeof(*h));
    h->loop = l;
    h->host = *host;
    h->sessions = map_new();
    LIST_INIT(&h->posts);
    h->pings = timer_new(l, MCP_HTTP_PING_MS, MCP_HTTP_PING_MS, on_ping, h);
    return h;
}

static void end_sessions(struct mcp_http *h, const char *owner)
{
    for (struct map_iter it = map_iter(h->sessions); map_next(&it);) {
        struct session *s = it.value;
        if (!owner || strcmp(s->owner, owner) == 0)
            session_free(s);
    }
}

struct mcp_http *mcp_http_free(struct mcp_http *h)
{
    if (h) {
        end_sessions(h, NULL);
        while (!LIST_EMPTY(&h->posts))
            post_free(LIST_FIRST(&h->posts)); /* those whose reply was pending */
        (void)map_free(h->sessions);
        h->pings = timer_free(h->pings);
        free(h);
    }
    return NULL;
}

void mcp_http_end_of(struct mcp_http *h, const char *owner)
{
    end_sessions(h, owner);
}

void mcp_http_stop(struct mcp_http *h)
{
    for (struct map_iter it = map_iter(h->sessions); map_next(&it);) {
        struct session *s = it.value;
        if (!s->stream)
            continue;
        http_req_on_gone(s->stream, NULL, NULL);
        http_req_on_drain(s->stream, NULL, NULL);
        http_req_end(s->stream);
        (void)http_req_unref(STEAL(s->stream));
    }
}

size_t mcp_http_sessions(const struct mcp_http *h)
{
    return map_count(h->sessions);
}
