/* One WebSocket after its handshake. Theory of operation. struct ws owns the descriptor, the frame reader, a stash of
 * bytes read while the user holds it, and the output queue. States: open, closing (our close frame is queued, the
 * peer's is awaited), finished. Past MARK_BYTES of queued output the source should pause until on_drain; a source that
 * ignores this is disconnected at OVERRUN_BYTES. A protocol error closes with the matching code, a broken socket with
 * 1006; either way on_close runs once, outside of any call the user made, and w is freed after it. The closing
 * handshake waits as long as queued output moves, so a slow reader loses nothing. */
#include "http/ws.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/alloc.h"
#include "base/ident.h"
#include "http/ws_conn.h"
#include "http/ws_key.h"

enum {
    WS_MAGIC = 0x3b50c001,
    READ_BYTES = 65536,
    MARK_BYTES = 1 << 20,     /* queued output past which the source should pause */
    OVERRUN_BYTES = 64 << 20, /* a source that ignores it is disconnected here */
    FREE_BYTES = 65536,       /* held without being counted for a tenant */
    CLOSE_MS = 3000,
    CLOSE_TICKS = 40 /* of CLOSE_MS: how long output may stand still before a close is forced */
};

/* --- life --- */

struct ws *ws_new(struct loop *l, bool is_client, size_t message_max, const struct ws_events *ev, void *arg)
{
    struct ws *w = xzalloc(sizeof *w);
    w->magic = WS_MAGIC;
    w->refs = 1;
    w->loop = l;
    w->events = *ev;
    w->arg = arg;
    w->fd = NO_FD;
    w->is_client = is_client;
    ws_frame_reader_init(&w->reader, !is_client, message_max);
    buf_init(&w->stash, READ_BYTES);
    output_queue_init(&w->out);
    w->out.is_blocked = true;
    return w;
}

static void ws_unref(struct ws *w)
{
    assert(w->magic == WS_MAGIC);
    if (--w->refs)
        return;
    w->magic = 0;
    ws_frame_reader_done(&w->reader);
    buf_done(&w->stash);
    output_queue_done(&w->out);
    free(w);
}

static void ws_cut(struct ws *w)
{
    w->is_closed = true;
    if (w->share)
        share_give(w->share, w->tenant, w->charged);
    w->share = share_free(w->share);
    ws_dial_free(STEAL(w->handshake));
    w->watch = watch_free(w->watch);
    w->timer = timer_free(w->timer);
    if (w->fd >= 0) {
        (void)shutdown(w->fd, SHUT_WR); /* the peer may have closed first */
        (void)close(steal_fd(&w->fd));
    }
}

void ws_finish(struct ws *w, int code, const char *reason)
{
    if (w->is_closed)
        return;
    ws_cut(w);
    w->events.on_close(w->arg, w, code, reason);
    ws_unref(w);
}

void ws_drop(struct ws *w)
{
    if (w->is_closed)
        return;
    ws_cut(w);
    ws_unref(w);
}

void ws_set_arg(struct ws *w, void *arg)
{
    w->arg = arg;
}

static void finish_broken(void *arg)
{
    struct ws *w = arg;
    ws_finish(w, 1006, "connection lost");
    ws_unref(w);
}

static void break_later(struct ws *w)
{
    w->refs++;
    loop_defer(w->loop, finish_broken, w);
}

/* --- what is held --- */

/* False: the message that arrives is over the tenant's share. */
static bool account(struct ws *w, bool is_arriving)
{
    size_t held = w->reader.message.len + output_queue_len(&w->out);
    held = held > FREE_BYTES ? held : 0;
    if (!w->share || held == w->charged)
        return true;
    if (held < w->charged)
        share_give(w->share, w->tenant, w->charged - held);
    else if (is_arriving && !share_has_room(w->share, w->tenant, held - w->charged))
        return false;
    else
        share_add(w->share, w->tenant, held - w->charged);
    w->charged = held;
    return true;
}

void ws_charge(struct ws *w, struct share *s, const char *tenant)
{
    if (w->is_closed)
        return;
    w->share = share_ref(s);
    (void)snprintf(w->tenant, sizeof w->tenant, "%s", tenant);
    (void)account(w, false);
}

/* --- output --- */

static void update_watch(struct ws *w)
{
    if (!w->watch)
        return;
    watch_set(w->watch, (w->is_held ? 0 : LOOP_READ) | (w->out.is_blocked ? LOOP_WRITE : 0));
}

static void send_frame(struct ws *w, enum ws_frame_op op, const char *data, size_t len)
{
    uint8_t head[WS_FRAME_HEAD_MAX], mask[4];
    int r = 0;
    if (w->is_client) {
        ident_random(mask, sizeof mask);
        r = output_queue_add(&w->out, head, ws_frame_head(op, len, mask, head));
        if (r >= 0)
            r = output_queue_add(&w->out, data, len);
        if (r >= 0) {
            ws_frame_mask(w->out.bytes.data + w->out.bytes.len - len, len, mask, 0);
            r = output_queue_send(&w->out, w->fd, NULL, 0);
        }
    } else {
        size_t head_len = ws_frame_head(op, len, NULL, head);
        struct iovec pieces[] = { { head, head_len }, { (void *)(uintptr_t)data, len } };
        r = output_queue_send(&w->out, w->fd, pieces, 2);
    }
    if (r < 0)
        break_later(w);
    if (output_queue_len(&w->out) > MARK_BYTES)
        w->is_over_mark = true;
    (void)account(w, false);
    update_watch(w);
}

size_t ws_send(struct ws *w, bool is_text, const char *data, size_t len)
{
    if (w->is_closed || w->is_closing)
        return 0;
    if (output_queue_len(&w->out) > OVERRUN_BYTES)
        break_later(w);
    else
        send_frame(w, is_text ? WS_FRAME_TEXT : WS_FRAME_BINARY, data, len);
    return output_queue_len(&w->out);
}

size_t ws_queued(const struct ws *w)
{
    return output_queue_len(&w->out);
}

void ws_ping(struct ws *w)
{
    if (!w->is_closed && !w->is_closing)
        send_frame(w, WS_FRAME_PING, "", 0);
}

/* Data sent before the close must reach a slow reader. */
static void close_timeout(void *arg)
{
    struct ws *w = arg;
    size_t left = output_queue_len(&w->out);
    bool is_moving = left < w->close_left;
    w->close_left = left;
    w->close_ticks = is_moving ? 0 : w->close_ticks + 1;
    if (is_moving || (left && w->close_ticks < CLOSE_TICKS))
        timer_set(w->timer, CLOSE_MS, 0);
    else
        ws_finish(w, 1006, "the peer did not finish the closing handshake");
}

void ws_close(struct ws *w, int code, const char *reason)
{
    if (w->is_closed || w->is_closing)
        return;
    char payload[WS_FRAME_CONTROL_MAX];
    size_t len = ws_frame_close_make(code, reason, payload);
    send_frame(w, WS_FRAME_CLOSE, payload, len);
    w->is_closing = true;
    w->close_left = output_queue_len(&w->out);
    w->timer = timer_new(w->loop, CLOSE_MS, 0, close_timeout, w);
    ws_hold(w, false); /* the peer's close frame must be read */
}

/* --- input --- */

/* Sends a close frame, unless one was sent, and finishes. */
static void close_now(struct ws *w, int code, const char *sent, const char *reason)
{
    char payload[WS_FRAME_CONTROL_MAX];
    if (!w->is_closing)
        send_frame(w, WS_FRAME_CLOSE, payload, ws_frame_close_make(code, sent, payload));
    ws_finish(w, code, reason);
}

/* Handles complete items until held or closed; returns what was used. */
static size_t ws_process(struct ws *w, const char *data, size_t len)
{
    char reason[WS_FRAME_CONTROL_MAX];
    size_t off = 0;
    int code = 0;
    while (!w->is_closed && !w->is_held && off < len) {
        struct ws_frame_item item;
        size_t used = 0;
        int r = ws_frame_read(&w->reader, data + off, len - off, &used, &item);
        off += used;
        if (r < 0) {
            const char *why = -r == WS_FRAME_TOO_BIG    ? "message is larger than the limit"
                              : -r == WS_FRAME_NOT_UTF8 ? "text is not UTF-8"
                                                        : "protocol error";
            close_now(w, -r, why, why);
        } else if (r > 0 && item.op == WS_FRAME_CLOSE) {
            r = ws_frame_close_parse(item.data, item.len, &code, reason);
            if (r < 0)
                close_now(w, -r, "bad close frame", "bad close frame");
            else
                close_now(w, code, "", reason);
        } else if (r == 0 && !account(w, true)) {
            close_now(w, 1013, "too many bytes are in flight: try again", "over the tenant's share of bytes in flight");
        } else if (r == 0 || w->is_closing) {
            continue; /* messages after our close are ignored */
        } else if (item.op == WS_FRAME_PING && output_queue_len(&w->out) <= MARK_BYTES) {
            send_frame(w, WS_FRAME_PONG, item.data, item.len); /* a peer that pings without reading gets no pong */
        } else if (item.op == WS_FRAME_TEXT || item.op == WS_FRAME_BINARY) {
            w->events.on_message(w->arg, w, item.op == WS_FRAME_TEXT, item.data, item.len);
            ws_frame_forget(&w->reader);
            (void)account(w, false);
        }
    }
    return off;
}

static void ws_readable(struct ws *w)
{
    if (w->stash.len)
        return; /* pending items come first */
    char piece[READ_BYTES]
        __attribute__((uninitialized)); /* not initialized by the build's -ftrivial-auto-var-init: too expensive here */
    ssize_t n = recv(w->fd, piece, sizeof piece, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        ws_finish(w, 1006, "connection lost");
        return;
    }
    size_t used = ws_process(w, piece, (size_t)n);
    if (!w->is_closed && used < (size_t)n && buf_add(&w->stash, piece + used, (size_t)n - used) < 0)
        ws_finish(w, 1011, "no memory");
}

static void ws_event(void *arg, int events)
{
    struct ws *w = arg;
    assert(w->magic == WS_MAGIC);
    w->refs++;
    if (events & LOOP_WRITE && output_queue_flush(&w->out, w->fd) < 0) {
        ws_finish(w, 1006, "connection lost");
    } else if (events & LOOP_WRITE) {
        (void)account(w, false);
        update_watch(w);
        if (output_queue_len(&w->out) == 0 && w->is_over_mark) {
            w->is_over_mark = false;
            if (w->events.on_drain)
                w->events.on_drain(w->arg, w);
        }
    }
    if (!w->is_closed && !w->is_held && events & LOOP_READ)
        ws_readable(w);
    ws_unref(w);
}

static void process_due(void *arg)
{
    struct ws *w = arg;
    w->is_process_due = false;
    if (!w->is_closed && !w->is_held) {
        size_t used = ws_process(w, buf_text(&w->stash), w->stash.len);
        buf_consume(&w->stash, used);
        update_watch(w);
    }
    ws_unref(w);
}

static void ws_process_later(struct ws *w)
{
    if (w->is_process_due)
        return;
    w->is_process_due = true;
    w->refs++;
    loop_defer(w->loop, process_due, w);
}

void ws_hold(struct ws *w, bool is_held)
{
    if (w->is_closed || w->is_held == is_held)
        return;
    w->is_held = is_held;
    if (!is_held && w->stash.len)
        ws_process_later(w); /* then continue reading */
    else
        update_watch(w);
}

int ws_open(struct ws *w, int fd, const struct buf *rest)
{
    int r = buf_add(&w->stash, buf_text(rest), rest->len);
    if (r == 0)
        r = watch_new(w->loop, fd, w->is_held ? 0 : LOOP_READ, ws_event, w, &w->watch);
    if (r < 0)
        return r;
    w->fd = fd;
    w->is_open = true;
    w->out.is_blocked = false;
    if (w->stash.len)
        ws_process_later(w);
    if (output_queue_flush(&w->out, fd) < 0)
        break_later(w);
    if (w->is_over_mark)
        w->out.is_blocked = true; /* even if everything was sent just now: the next turn calls on_drain */
    update_watch(w);
    return 0;
}

/* --- the server's side of the handshake --- */

static int upgrade_refuse(struct http_req *r, int status, const char *text)
{
    char body[200];
    int len = snprintf(body, sizeof body, "{\"error\":\"%s\"}", text);
    http_req_add_header(r, "Sec-WebSocket-Version", "13");
    http_req_reply(r, status, "application/json", body, (size_t)len);
    return -EINVAL;
}

int ws_accept(struct loop *l, struct http_req *r, size_t message_max, const struct ws_events *ev, void *arg,
              struct ws **ret)
{
    const char *version = http_req_header(r, "sec-websocket-version"), *key = http_req_header(r, "sec-websocket-key");
    if (strcmp(http_req_method(r), "GET") != 0 || !http_req_wants_upgrade(r, "websocket"))
        return upgrade_refuse(r, 426, "this address expects WebSocket: send GET with Upgrade: websocket");
    if (!version || strcmp(version, "13") != 0)
        return upgrade_refuse(r, 426, "Sec-WebSocket-Version must be 13");
    if (!key || !ws_key_is_valid(key))
        return upgrade_refuse(r, 400, "Sec-WebSocket-Key must be 16 bytes in base64");
    char accept_key[WS_KEY_ACCEPT_MAX], head[256];
    ws_key_accept(key, accept_key);
    CLEANUP(close_fd_p) int fd = NO_FD;
    CLEANUP(buf_done) struct buf rest = BUF_INIT(0);
    int taken = http_req_take(r, &fd, &rest);
    if (taken < 0)
        return taken == -EBUSY ? upgrade_refuse(r, 400, "WebSocket cannot follow pipelined requests")
                               : upgrade_refuse(r, 503, "the connection cannot be taken over now: try again");
    struct ws *w = ws_new(l, false, message_max, ev, arg);
    int len = snprintf(head, sizeof head,
                       "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                       "Sec-WebSocket-Accept: %s\r\n\r\n",
                       accept_key);
    int opened = output_queue_add(&w->out, head, (size_t)len);
    if (opened == 0)
        opened = ws_open(w, fd, &rest); /* flushes the head */
    if (opened < 0) {
        ws_drop(w);
        return opened;
    }
    (void)steal_fd(&fd);
    *ret = w;
    return 0;
}
