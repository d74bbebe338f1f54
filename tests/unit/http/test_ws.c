/* WebSocket over real sockets: our server with raw clients, and with our own client. */
#include "base/alloc.h"
#include "base/share.h"
#include "http/server_fixture.h"
#include "http/ws.h"
#include "http/ws_frame.h"

#define UPGRADE                                                                                                 \
    "GET /ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n" \
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"

enum { MESSAGE_MAX = 4 << 20 };

struct side {
    struct ws *ws;
    struct buf log; /* "t:text;" "b:bytes;" "close:code:reason;" */
    size_t byte_count;
    unsigned drains;
    bool echoes, holds;
};

static struct fixture fx;
static struct side server_side, client_side;

static void on_message(void *arg, struct ws *w, bool is_text, const char *data, size_t len)
{
    struct side *s = arg;
    s->byte_count += len;
    if (len < 200)
        (void)buf_addf(&s->log, "%c:%.*s;", is_text ? 't' : 'b', (int)len, data);
    if (s->echoes)
        (void)ws_send(w, is_text, data, len);
    if (s->holds)
        ws_hold(w, true);
}

static void on_close(void *arg, struct ws *w, int code, const char *reason)
{
    struct side *s = arg;
    CHECK(s->ws == w);
    (void)buf_addf(&s->log, "close:%d:%s;", code, reason);
    s->ws = NULL;
}

static void on_drain(void *arg, struct ws *w)
{
    struct side *s = arg;
    (void)w;
    s->drains++;
}

static const struct ws_events events = { on_message, on_close, on_drain };

static struct http_body_rule on_head(void *arg, struct http_req *r)
{
    (void)arg;
    (void)r;
    return (struct http_body_rule){ .max_bytes = 1000 };
}

static void on_request(void *arg, struct http_req *r)
{
    (void)arg;
    if (strcmp(http_req_path(r), "/plain") == 0)
        http_req_reply(r, 404, NULL, NULL, 0);
    else
        (void)ws_accept(fx.loop, r, MESSAGE_MAX, &events, &server_side, &server_side.ws);
}

static const struct http_app app = { .on_head = on_head, .on_request = on_request };

static void begin(void)
{
    fixture_init(&fx, &app, NULL);
    server_side = (struct side){ .log = BUF_INIT(1 << 20) };
    client_side = (struct side){ .log = BUF_INIT(1 << 20) };
}

static void end(void)
{
    if (server_side.ws)
        ws_drop(server_side.ws);
    if (client_side.ws)
        ws_drop(client_side.ws);
    buf_done(&server_side.log);
    buf_done(&client_side.log);
    fixture_done(&fx);
}

static int open_raw(void)
{
    int fd = fixture_connect(&fx);
    fixture_say(fd, UPGRADE "\r\n");
    CHECK(fixture_wait(&fx, fd, "\r\n\r\n"));
    CHECK(fixture_has(&fx, "HTTP/1.1 101 "));
    CHECK(fixture_has(&fx, "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"));
    buf_clear(&fx.in);
    return fd;
}

static void send_masked(int fd, int first, const char *data, size_t len)
{
    static const uint8_t mask[4] = { 1, 2, 3, 4 };
    char *frame = xzalloc(len + WS_FRAME_HEAD_MAX);
    size_t head = ws_frame_head(WS_FRAME_TEXT, len, mask, (uint8_t *)frame);
    frame[0] = (char)first;
    memcpy(frame + head, data, len);
    ws_frame_mask(frame + head, len, mask, 0);
    fixture_write(fd, frame, head + len);
    free(frame);
}

static void dial(const char *path)
{
    char url[64];
    struct err err = ERR_INIT;
    snprintf(url, sizeof url, "ws://127.0.0.1:%u%s", fx.port, path);
    const struct ws_target to = { .url = url, .message_max = MESSAGE_MAX, .rule = outgoing_any };
    CHECK_INT(ws_dial(fx.loop, &to, &events, &client_side, &client_side.ws, &err), 0);
}

static bool wait_log(const struct side *s, const char *text)
{
    LOOPTURN_UNTIL(fx.loop, strstr(buf_text(&s->log), text));
    if (strstr(buf_text(&s->log), text))
        return true;
    printf("# log: %.200s\n", buf_text(&s->log));
    return false;
}

TEST(a_raw_client_is_answered_frame_by_frame)
{
    begin();
    server_side.echoes = true;
    int fd = open_raw();
    send_masked(fd, 0x81, "hello", 5);
    CHECK(fixture_wait(&fx, fd, "\x81\x05hello"));
    send_masked(fd, 0x89, "beat", 4);
    CHECK(fixture_wait(&fx, fd,
                       "\x8a\x04"
                       "beat"));
    send_masked(fd, 0x01, "fra", 3);
    send_masked(fd, 0x89, "mid", 3);
    send_masked(fd, 0x80, "gment", 5);
    CHECK(fixture_wait(&fx, fd,
                       "\x81\x08"
                       "fragment"));
    CHECK(fixture_has(&fx, "\x8a\x03mid"));
    send_masked(fd, 0x88,
                "\x03\xe8"
                "bye",
                5);
    CHECK(fixture_wait(&fx, fd, NULL));
    CHECK(fixture_has(&fx, "\x88\x02\x03\xe8"));
    CHECK(wait_log(&server_side, "close:1000:bye;"));
    close(fd);
    end();
}

TEST(frames_behind_the_handshake_in_one_packet_count)
{
    begin();
    server_side.echoes = true;
    int fd = fixture_connect(&fx);
    static const char text[] = UPGRADE "\r\n\x81\x82\x00\x00\x00\x00hi";
    fixture_write(fd, text, sizeof text - 1);
    CHECK(fixture_wait(&fx, fd, "\x81\x02hi"));
    close(fd);
    CHECK(wait_log(&server_side, "close:1006:"));
    end();
}

TEST(bad_handshakes_are_refused)
{
    static const struct {
        const char *text;
        const char *want;
    } cases[] = {
        { "GET /ws HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "HTTP/1.1 426 " },
        { "POST /ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\nContent-Length: "
          "0\r\n\r\n",
          "HTTP/1.1 426 " },
        { "GET /ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\nSec-WebSocket-Version: "
          "8\r\n\r\n",
          "Sec-WebSocket-Version: 13\r\n" },
        { "GET /ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\nSec-WebSocket-Version: "
          "13\r\n"
          "Sec-WebSocket-Key: short\r\n\r\n",
          "HTTP/1.1 400 " },
    };
    begin();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK(fixture_exchange(&fx, cases[i].text));
        CHECK(fixture_has(&fx, cases[i].want));
    }
    CHECK(!server_side.ws);
    end();
}

TEST(deflate_is_declined)
{
    begin();
    int fd = fixture_connect(&fx);
    fixture_say(fd, UPGRADE "Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n");
    CHECK(fixture_wait(&fx, fd, "\r\n\r\n"));
    CHECK(fixture_has(&fx, "101 ") && !fixture_has(&fx, "Extensions"));
    close(fd);
    end();
}

TEST(rule_breakers_get_the_close_code)
{
    begin();
    int fd = open_raw();
    fixture_say(fd, "\x81\x02hi"); /* no mask */
    CHECK(fixture_wait(&fx, fd, NULL));
    CHECK(fixture_has(&fx, "\x03\xea")); /* 1002 */
    CHECK(wait_log(&server_side, "close:1002:"));
    close(fd);
    fd = open_raw();
    send_masked(fd, 0x81, "\xff", 1);
    CHECK(fixture_wait(&fx, fd, NULL));
    CHECK(wait_log(&server_side, "close:1007:"));
    close(fd);
    fd = open_raw();
    fixture_write(fd,
                  "\x82\xff\x00\x00\x00\x00\x00\x40\x00\x01"
                  "abcd",
                  14); /* 4 MiB and 1 */
    CHECK(fixture_wait(&fx, fd, NULL));
    CHECK(wait_log(&server_side, "close:1009:"));
    close(fd);
    end();
}

TEST(client_and_server_talk_and_close)
{
    begin();
    server_side.echoes = true;
    dial("/ws");
    (void)ws_send(client_side.ws, true, "early", 5); /* waits for the handshake */
    CHECK(wait_log(&client_side, "t:early;"));
    (void)ws_send(client_side.ws, false, "\x01\x02", 2);
    CHECK(wait_log(&client_side, "b:\x01\x02;"));
    ws_ping(client_side.ws);
    ws_ping(server_side.ws);
    size_t len = 3 << 20;
    char *big = xzalloc(len);
    memset(big, 'x', len);
    client_side.byte_count = 0;
    (void)ws_send(client_side.ws, true, big, len);
    LOOPTURN_UNTIL(fx.loop, client_side.byte_count >= len);
    CHECK_INT(client_side.byte_count, len);
    free(big);
    ws_close(client_side.ws, 4001, "enough");
    CHECK_INT(ws_send(client_side.ws, true, "late", 4), 0);
    CHECK(wait_log(&client_side, "close:4001:"));
    CHECK(wait_log(&server_side, "close:4001:enough;"));
    end();
}

TEST(refused_and_unreachable_servers_show_in_on_close)
{
    begin();
    dial("/plain");
    CHECK(wait_log(&client_side, "close:1006:refused: HTTP/1.1 404"));
    struct ws *none = NULL;
    struct err err = ERR_INIT;
    const char *const bad[] = { "A: b\r\nC: d", NULL };
    const struct ws_target no_address = { .url = "http://a/", .message_max = 100 };
    const struct ws_target bad_header = { .url = "ws://127.0.0.1:1/", .headers = bad, .message_max = 100 };
    CHECK_INT(ws_dial(fx.loop, &no_address, &events, NULL, &none, &err), -EINVAL);
    CHECK_INT(ws_dial(fx.loop, &bad_header, &events, NULL, &none, &err), -EINVAL);
    buf_clear(&client_side.log);
    fx.server = http_server_free(fx.server);
    dial("/ws");
    CHECK(wait_log(&client_side, "close:1006:connect to 127.0.0.1"));
    dial("/ws"); /* dropped before it could begin */
    ws_drop(client_side.ws);
    client_side.ws = NULL;
    end();
}

TEST(held_messages_come_one_by_one)
{
    begin();
    server_side.holds = true;
    int fd = open_raw();
    send_masked(fd, 0x81, "a", 1);
    send_masked(fd, 0x81, "b", 1);
    send_masked(fd, 0x81, "c", 1);
    CHECK(wait_log(&server_side, "t:a;"));
    fixture_turn(&fx, 10);
    CHECK_STR(buf_text(&server_side.log), "t:a;");
    ws_hold(server_side.ws, false);
    CHECK(wait_log(&server_side, "t:b;"));
    fixture_turn(&fx, 10);
    CHECK_STR(buf_text(&server_side.log), "t:a;t:b;");
    ws_hold(server_side.ws, false);
    CHECK(wait_log(&server_side, "t:a;t:b;t:c;"));
    close(fd);
    end();
}

TEST(a_slow_reader_passes_the_mark_and_drains)
{
    begin();
    static char piece[65536];
    int fd = open_raw();
    size_t queued = 0;
    for (int i = 0; i < 1000 && queued <= 1 << 20; i++)
        queued = ws_send(server_side.ws, false, piece, sizeof piece);
    CHECK(queued > 1 << 20);
    CHECK_INT(server_side.drains, 0);
    LOOPTURN_UNTIL(fx.loop, fixture_read_some(&fx, fd) && server_side.drains);
    CHECK_INT(server_side.drains, 1);
    close(fd);
    CHECK(wait_log(&server_side, "close:1006:"));
    end();
}

/* Half of a message of len bytes, whose head announces all of it. */
static void send_half(int fd, size_t len)
{
    static const uint8_t mask[4] = { 0 };
    char *frame = xzalloc(len + WS_FRAME_HEAD_MAX);
    size_t head = ws_frame_head(WS_FRAME_BINARY, len, mask, (uint8_t *)frame);
    fixture_write(fd, frame, head + len / 2);
    free(frame);
}

TEST(what_is_held_is_charged_to_the_tenant)
{
    begin();
    static char piece[1 << 20];
    struct share *s = share_new(4 << 20);
    int first = open_raw();
    struct ws *one = server_side.ws;
    ws_charge(one, s, "t");
    send_half(first, 1 << 20);
    LOOPTURN_UNTIL(fx.loop, share_held(s, "t") == 1 << 19);
    CHECK_INT(share_held(s, "t"), 1 << 19);
    int second = open_raw(); /* of the same tenant: together they hold more than a quarter */
    ws_charge(server_side.ws, s, "t");
    send_half(second, 3 << 19);
    CHECK(wait_log(&server_side, "close:1013:"));
    CHECK(fixture_wait(&fx, second, NULL) && fixture_has(&fx, "\x03\xf5"));
    CHECK_INT(share_held(s, "t"), 1 << 19);
    close(second);
    server_side.ws = one;
    fixture_write(first, piece, 1 << 19); /* the rest: a message that is handed over counts no more */
    LOOPTURN_UNTIL(fx.loop, server_side.byte_count == 1 << 20);
    CHECK(server_side.byte_count == 1 << 20 && share_held(s, "t") == 0);
    for (int i = 0; i < 8; i++) /* what a slow reader leaves waiting counts, too, and is never refused */
        (void)ws_send(one, false, piece, sizeof(piece));
    CHECK(share_held(s, "t") == ws_queued(one) && ws_queued(one) > 1 << 20);
    LOOPTURN_UNTIL(fx.loop, fixture_read_some(&fx, first) && ws_queued(one) == 0);
    CHECK_INT(share_held(s, "t"), 0);
    send_half(first, 1 << 20);
    LOOPTURN_UNTIL(fx.loop, share_held(s, "t") == 1 << 19);
    close(first);
    LOOPTURN_UNTIL(fx.loop, !server_side.ws);
    CHECK_INT(share_held(s, "t"), 0);
    end();
    share_free(s);
}

TEST(a_peer_that_never_closes_is_cut)
{
    begin();
    int fd = open_raw();
    ws_close(server_side.ws, 1001, "restart");
    CHECK(fixture_wait(&fx, fd, "restart"));
    CHECK(wait_log(&server_side, "close:1006:"));
    close(fd);
    end();
}

int main(void)
{
    RUN(a_raw_client_is_answered_frame_by_frame);
    RUN(frames_behind_the_handshake_in_one_packet_count);
    RUN(bad_handshakes_are_refused);
    RUN(deflate_is_declined);
    RUN(rule_breakers_get_the_close_code);
    RUN(client_and_server_talk_and_close);
    RUN(refused_and_unreachable_servers_show_in_on_close);
    RUN(held_messages_come_one_by_one);
    RUN(a_slow_reader_passes_the_mark_and_drains);
    RUN(what_is_held_is_charged_to_the_tenant);
    RUN(a_peer_that_never_closes_is_cut);
    return tap_done();
}
