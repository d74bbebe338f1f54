/* The client's side of the handshake: connect, send the upgrade request, check the response, then hand the socket to
 * ws.c. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "base/alloc.h"
#include "http/url.h"
#include "http/ws_conn.h"
#include "http/ws_key.h"
#include "tls/tls_context.h"

enum { HANDSHAKE_MS = 10000, ANSWER_BYTES = 16384 };

struct ws_handshake {
    struct ws *ws;
    struct dial *dial;
    int fd;
    struct watch *watch;
    struct timer *timer;
    struct output_queue out;
    struct buf answer;
    char key[WS_KEY_MAX];
    bool is_secure;
};

void ws_dial_free(struct ws_handshake *h)
{
    if (!h)
        return;
    h->dial = dial_free(h->dial);
    h->watch = watch_free(h->watch);
    h->timer = timer_free(h->timer);
    if (h->fd >= 0)
        (void)close(h->fd);
    output_queue_done(&h->out);
    buf_done(&h->answer);
    free(h);
}

/* The value of a header line in the response's head; NULL when there is none. *ret_len is its length. */
static const char *find_field(const char *head, const char *name, size_t *ret_len)
{
    size_t want = strlen(name);
    for (const char *line = strstr(head, "\r\n"); line; line = strstr(line, "\r\n")) {
        line += 2;
        if (strncasecmp(line, name, want) != 0 || line[want] != ':')
            continue;
        const char *value = line + want + 1 + strspn(line + want + 1, " \t");
        *ret_len = strcspn(value, "\r");
        return value;
    }
    return NULL;
}

static bool is_field(const char *head, const char *name, const char *want)
{
    size_t len;
    const char *value = find_field(head, name, &len);
    return value && len == strlen(want) && strncasecmp(value, want, len) == 0;
}

/* Whether the complete head (NUL-terminated) accepts the upgrade. */
static bool is_agreed(const struct ws_handshake *h, const char *head)
{
    char expected[WS_KEY_ACCEPT_MAX];
    size_t len;
    ws_key_accept(h->key, expected);
    const char *accepted = find_field(head, "Sec-WebSocket-Accept", &len);
    return strncmp(head, "HTTP/1.1 101", 12) == 0 && is_field(head, "Upgrade", "websocket") &&
           is_field(head, "Connection", "Upgrade") && accepted && len == strlen(expected) &&
           memcmp(accepted, expected, len) == 0 && !find_field(head, "Sec-WebSocket-Extensions", &len);
}

static void check_answer(struct ws_handshake *h)
{
    struct ws *w = h->ws;
    char *end = strstr(h->answer.data, "\r\n\r\n");
    if (!end)
        return;
    size_t head_len = (size_t)(end - h->answer.data) + 4;
    end[2] = '\0';
    if (!is_agreed(h, h->answer.data)) {
        char reason[80];
        (void)snprintf(reason, sizeof reason, "refused: %.60s", h->answer.data);
        reason[strcspn(reason, "\r\n")] = '\0';
        ws_finish(w, 1006, reason);
        return;
    }
    buf_consume(&h->answer, head_len);
    h->watch = watch_free(h->watch);
    if (ws_open(w, h->fd, &h->answer) < 0) {
        ws_finish(w, 1006, "no memory");
        return;
    }
    h->fd = NO_FD;
    w->handshake = NULL;
    ws_dial_free(h);
}

/* In TLS 1.3 a client learns only after its side of the handshake that its certificate is rejected or missing. */
static const char *lost_reason(const struct ws_handshake *h)
{
    return h->is_secure ? "the server ended the TLS connection: if it asks for a client certificate, set "
                          "III_CLIENT_CERT and III_CLIENT_KEY to one that it accepts"
                        : "connection lost during the handshake";
}

static void handshake_event(void *arg, int events)
{
    struct ws_handshake *h = arg;
    if (events & LOOP_WRITE && output_queue_flush(&h->out, h->fd) < 0) {
        ws_finish(h->ws, 1006, lost_reason(h));
        return;
    }
    watch_set(h->watch, LOOP_READ | (h->out.is_blocked ? LOOP_WRITE : 0));
    if (!(events & LOOP_READ))
        return;
    char piece[4096];
    ssize_t n = recv(h->fd, piece, sizeof piece, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0 || buf_add(&h->answer, piece, (size_t)n) < 0)
        ws_finish(h->ws, 1006, n > 0 ? "the response to the handshake is too long" : lost_reason(h));
    else
        check_answer(h);
}

static void handshake_dialed(void *arg, int fd, const struct err *err)
{
    struct ws_handshake *h = arg;
    h->dial = NULL;
    if (err) {
        ws_finish(h->ws, 1006, err->msg);
        return;
    }
    h->fd = fd;
    if (watch_new(h->ws->loop, fd, LOOP_READ, handshake_event, h, &h->watch) < 0 ||
        output_queue_flush(&h->out, fd) < 0) {
        ws_finish(h->ws, 1006, lost_reason(h));
        return;
    }
    watch_set(h->watch, LOOP_READ | (h->out.is_blocked ? LOOP_WRITE : 0));
}

static void handshake_timeout(void *arg)
{
    struct ws_handshake *h = arg;
    ws_finish(h->ws, 1006, "no response to the handshake in time");
}

int ws_dial(struct loop *l, const struct ws_target *to, const struct ws_events *ev, void *arg, struct ws **ret,
            struct err *err)
{
    struct url u;
    SSL_CTX *ctx = NULL;
    if (url_parse_either(to->url, "ws", &u) < 0)
        return err_set(err, ERR_INVALID, 0,
                       "\"%s\" is not a WebSocket address: ws:// or wss://host:port/path is needed", to->url);
    int r = u.is_secure ? tls_context_client(to->trust, &ctx, err) : 0;
    if (r < 0)
        return r;
    struct ws *w = ws_new(l, true, to->message_max, ev, arg);
    struct ws_handshake *h = xzalloc(sizeof *h);
    h->ws = w;
    h->fd = NO_FD;
    h->is_secure = u.is_secure;
    w->handshake = h;
    output_queue_init(&h->out);
    buf_init(&h->answer, ANSWER_BYTES);
    ws_key_new(h->key);
    bool is_v6 = strchr(u.host, ':') != NULL;
    r = buf_addf(&h->out.bytes,
                 "GET %s HTTP/1.1\r\nHost: %s%s%s:%u\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                 "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %s\r\n",
                 u.path, is_v6 ? "[" : "", u.host, is_v6 ? "]" : "", u.port, h->key);
    for (const char *const *line = to->headers; r == 0 && line && *line; line++)
        r = strpbrk(*line, "\r\n") ? -EINVAL : buf_addf(&h->out.bytes, "%s\r\n", *line);
    if (r == 0)
        r = buf_add_str(&h->out.bytes, "\r\n");
    if (r < 0) {
        (void)tls_context_unref(ctx);
        ws_drop(w);
        return err_set(err, ERR_INVALID, -r, "connect to %s: a header holds a line break or is too long", to->url);
    }
    h->timer = timer_new(l, HANDSHAKE_MS, 0, handshake_timeout, h);
    h->dial = dial_tcp(l, &(struct dial_target){ .host = u.host, .port = u.port, .rule = to->rule, .ctx = ctx },
                       HANDSHAKE_MS, handshake_dialed, h);
    (void)tls_context_unref(ctx);
    *ret = w;
    return 0;
}
