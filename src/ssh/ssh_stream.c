#include "ssh/ssh_stream.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "ssh/ssh_wire.h"

enum { OUT_MAX = 1 << 20, IN_MAX = 1 << 20, MESSAGE_MAX = 1 << 20 };

int ssh_stream_open(struct ssh_stream *s, const struct ssh_stream_target *to, const char *path, bool is_websocket)
{
    int pair[2];
    struct ssh_wire_msg m = { .kind = SSH_WIRE_OPEN };
    *s = (struct ssh_stream){ .fd = NO_FD, .out = BUF_INIT(OUT_MAX), .in = BUF_INIT(IN_MAX) };
    ws_frame_reader_init(&s->reader, false, MESSAGE_MAX);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
        return -errno;
    s->fd = pair[0];
    int r = ssh_wire_send(to->control, &m, pair[1]);
    (void)close(pair[1]); /* the server's */
    if (r == 0)
        r = buf_addf(&s->out, "GET /%s/sandboxes/%s/%s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n",
                     to->prefix, to->sandbox, path, to->credential);
    if (r == 0) /* the key of a WebSocket protects from caches in between: there are none */
        r = buf_add_str(&s->out, is_websocket
                                     ? "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                                       "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
                                     : "Connection: Upgrade\r\nUpgrade: tcp\r\n\r\n");
    return r;
}

void ssh_stream_close(struct ssh_stream *s)
{
    if (s->fd >= 0)
        (void)close(steal_fd(&s->fd));
    buf_done(&s->out);
    buf_done(&s->in);
    ws_frame_reader_done(&s->reader);
}

static void fail(struct ssh_stream *s, const char *text, size_t len)
{
    JSON_OWNED body = NULL;
    const char *why = json_read(text, len, &body, NULL) == 0 ? json_get_str(body, "error", NULL) : NULL;
    (void)snprintf(s->failure, sizeof(s->failure), "%s", why ? why : "the server closed the connection");
    s->is_ended = true;
}

/* Reads the response's head, once it is there. A refusal has a body with the reason, after which nothing comes. */
static void read_head(struct ssh_stream *s)
{
    char *end = s->in.len ? strstr(s->in.data, "\r\n\r\n") : NULL;
    if (!end)
        return;
    size_t head = (size_t)(end - s->in.data) + 4;
    if (strncmp(s->in.data, "HTTP/1.1 101", 12) == 0) {
        buf_consume(&s->in, head);
        s->is_open = true;
        return;
    }
    const char *length = strcasestr(s->in.data, "\r\ncontent-length:");
    size_t body = length && length < end ? strtoul(length + 17, NULL, 10) : 0;
    if (s->in.len - head >= body || s->is_ended)
        fail(s, s->in.data + head, s->in.len - head);
}

static void read_some(struct ssh_stream *s)
{
    char piece[SSH_STREAM_PIECE];
    ssize_t n = recv(s->fd, piece, sizeof(piece), 0);
    if (n > 0 && buf_add(&s->in, piece, (size_t)n) == 0)
        return;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    s->is_ended = true;
}

void ssh_stream_move(struct ssh_stream *s)
{
    if (s->fd < 0)
        return;
    while (s->out.len > 0) {
        ssize_t n = send(s->fd, s->out.data, s->out.len, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            break;
        if (n < 0) { /* the other side reads no more: what it has sent is still to be read */
            buf_clear(&s->out);
            break;
        }
        buf_consume(&s->out, (size_t)n);
    }
    if (s->wants_shut && !s->is_shut && s->out.len == 0) {
        s->is_shut = true;
        (void)shutdown(s->fd, SHUT_WR);
    }
    if (!s->is_ended && (s->in.len == 0 || !s->is_open))
        read_some(s);
    if (!s->is_open)
        read_head(s);
    if (!s->is_open && s->is_ended && !*s->failure)
        fail(s, "", 0);
}

short ssh_stream_events(const struct ssh_stream *s, bool wants_input)
{
    bool can_read = !s->is_ended && (wants_input || !s->is_open);
    return (short)((can_read ? POLLIN : 0) | (s->out.len ? POLLOUT : 0));
}

bool ssh_stream_wait(struct ssh_stream *s, int timeout_ms)
{
    for (;;) {
        ssh_stream_move(s);
        if (s->is_open || s->is_ended)
            return s->is_open;
        struct pollfd p = { .fd = s->fd, .events = ssh_stream_events(s, true) };
        int r = poll(&p, 1, timeout_ms);
        if (r == 0 || (r < 0 && errno != EINTR))
            return false;
    }
}

void ssh_stream_shut(struct ssh_stream *s)
{
    s->wants_shut = true;
    ssh_stream_move(s);
}

int ssh_stream_message(struct ssh_stream *s, bool is_text, const char *data, size_t len)
{
    static const uint8_t mask[4]; /* nothing between us and the server could be misled by what a client chose */
    uint8_t head[WS_FRAME_HEAD_MAX];
    size_t head_len = ws_frame_head(is_text ? WS_FRAME_TEXT : WS_FRAME_BINARY, len, mask, head);
    int r = buf_add(&s->out, head, head_len);
    return r < 0 ? r : buf_add(&s->out, data, len);
}

bool ssh_stream_next(struct ssh_stream *s, struct ws_frame_item *ret)
{
    size_t used = 0;
    if (!s->is_open || s->in.len == 0)
        return false;
    int r = ws_frame_read(&s->reader, s->in.data, s->in.len, &used, ret);
    buf_consume(&s->in, used);
    if (r < 0)
        s->is_ended = true;
    return r == 1;
}
