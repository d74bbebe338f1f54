/* Channels over real sockets: claiming, both kinds of ends, order, backpressure, expiry. */
#include "base/alloc.h"
#include "engine/channel.h"
#include "http/server_fixture.h"
#include "http/ws.h"

enum { CLAIM_MS = 2000 };

struct peer { /* a WebSocket client */
    struct ws *ws;
    struct buf log; /* "t:text;" "b:bytes;" "close:code;" */
    size_t bytes;
};

struct holder { /* of a local end */
    struct buf log;
    struct channel *channel;
};

static struct fixture fx;
static struct channel_hub *hub;

static void peer_message(void *arg, struct ws *w, bool is_text, const char *data, size_t len)
{
    struct peer *p = arg;
    (void)w;
    p->bytes += len;
    CHECK(is_text || len <= CHANNEL_FRAME_BYTES);
    if (len < 100)
        (void)buf_addf(&p->log, "%c:%.*s;", is_text ? 't' : 'b', (int)len, data);
}

static void peer_close(void *arg, struct ws *w, int code, const char *reason)
{
    struct peer *p = arg;
    (void)w, (void)reason;
    (void)buf_addf(&p->log, "close:%d;", code);
    p->ws = NULL;
}

static const struct ws_events peer_events = { .on_message = peer_message, .on_close = peer_close };

static void dial(struct peer *p, const struct channel *c, enum channel_end end, const char *key)
{
    struct err err = ERR_INIT;
    JSON_OWNED ref = channel_ref_json(c, end);
    CLEANUP(free_p)
    char *url =
        xasprintf("ws://127.0.0.1:%u/ws/channels/%s?key=%s&dir=%s", fx.port, json_get_str(ref, "channel_id", ""),
                  key ? key : json_get_str(ref, "access_key", ""), json_get_str(ref, "direction", ""));
    *p = (struct peer){ .log = BUF_INIT(65536) };
    const struct ws_target to = { .url = url, .message_max = 16 << 20, .rule = outgoing_any };
    CHECK_INT(ws_dial(fx.loop, &to, &peer_events, p, &p->ws, &err), 0);
}

static void hang_up(struct peer *p)
{
    if (p->ws)
        ws_drop(p->ws);
    buf_done(&p->log);
}

static bool wait_for(const struct buf *log, const char *text)
{
    LOOPTURN_UNTIL(fx.loop, strstr(buf_text(log), text));
    return strstr(buf_text(log), text) != NULL;
}

static void on_claimed(void *arg, struct channel *c)
{
    struct holder *h = arg;
    CHECK(h->channel == c);
    (void)buf_add_str(&h->log, "claimed;");
}

static void on_data(void *arg, struct channel *c, bool is_text, const char *data, size_t len)
{
    struct holder *h = arg;
    (void)c;
    (void)buf_addf(&h->log, "%c:%.*s;", is_text ? 't' : 'b', (int)len, data);
}

static void on_drain(void *arg, struct channel *c)
{
    struct holder *h = arg;
    (void)c;
    (void)buf_add_str(&h->log, "drain;");
}

static void on_closed(void *arg, struct channel *c)
{
    struct holder *h = arg;
    CHECK(h->channel == c);
    h->channel = NULL;
    (void)buf_add_str(&h->log, "closed;");
}

static const struct channel_events events = { on_claimed, on_data, on_drain, on_closed };

TEST(a_local_reader_hears_a_remote_writer)
{
    struct holder h = { .log = BUF_INIT(65536) };
    struct peer p;
    h.channel = channel_new(hub, CHANNEL_READER, &events, &h);
    dial(&p, h.channel, CHANNEL_WRITER, NULL);
    (void)ws_send(p.ws, false, "bytes", 5);
    (void)ws_send(p.ws, true, "control", 7);
    CHECK(wait_for(&h.log, "t:control;"));
    CHECK_STR(buf_text(&h.log), "claimed;b:bytes;t:control;");
    channel_hold(h.channel, true);
    (void)ws_send(p.ws, false, "held", 4);
    fixture_turn(&fx, 20);
    CHECK(!strstr(buf_text(&h.log), "held"));
    channel_hold(h.channel, false);
    CHECK(wait_for(&h.log, "b:held;"));
    ws_close(p.ws, 1000, "");
    CHECK(wait_for(&h.log, "closed;"));
    CHECK(!h.channel && wait_for(&p.log, "close:1000;"));
    CHECK_INT(channel_hub_count(hub), 0);
    hang_up(&p);
    buf_done(&h.log);
}

TEST(a_local_writer_reaches_a_remote_reader)
{
    struct holder h = { .log = BUF_INIT(65536) };
    struct peer p;
    h.channel = channel_new(hub, CHANNEL_WRITER, &events, &h);
    CHECK_INT(channel_write(h.channel, false, "too early", 9), 0);
    dial(&p, h.channel, CHANNEL_READER, NULL);
    CHECK(wait_for(&h.log, "claimed;"));
    (void)channel_write(h.channel, true, "", 0);
    (void)channel_write(h.channel, false, "data", 4);
    CHECK(wait_for(&p.log, "b:data;"));
    CHECK_STR(buf_text(&p.log), "t:;b:data;");
    char *big = xzalloc(8 << 20);
    size_t queued = channel_write(h.channel, false, big, 8 << 20); /* cut into frames; peer_message checks */
    CHECK(queued > 1 << 20);
    CHECK(wait_for(&h.log, "drain;"));
    CHECK(wait_for(&h.log, "drain;"));
    LOOPTURN_UNTIL(fx.loop, p.bytes > 8 << 20);
    CHECK_INT(p.bytes, (8 << 20) + 4);
    free(big);
    channel_close(h.channel, 1000, "done");
    CHECK(wait_for(&p.log, "close:1000;"));
    hang_up(&p);
    buf_done(&h.log);
}

TEST(two_clients_meet)
{
    struct peer writer, reader;
    struct channel *c = channel_new(hub, 0, NULL, NULL);
    dial(&writer, c, CHANNEL_WRITER, NULL);
    (void)ws_send(writer.ws, false, "waits for the reader", 20);
    fixture_turn(&fx, 20);
    dial(&reader, c, CHANNEL_READER, NULL);
    CHECK(wait_for(&reader.log, "b:waits for the reader;"));
    (void)ws_send(reader.ws, false, "readers do not write", 20);
    (void)ws_send(writer.ws, true, "last", 4);
    ws_close(writer.ws, 1000, "stream_complete");
    CHECK(wait_for(&reader.log, "close:1000;"));
    CHECK_STR(buf_text(&reader.log), "b:waits for the reader;t:last;close:1000;");
    CHECK(wait_for(&writer.log, "close:"));
    CHECK_STR(buf_text(&writer.log), "close:1000;");
    hang_up(&writer);
    hang_up(&reader);
}

TEST(a_local_reader_gets_what_was_written_before_it)
{
    struct holder h = { .log = BUF_INIT(65536) };
    struct peer writer;
    struct channel *c = channel_new(hub, 0, NULL, NULL);
    JSON_OWNED ref = channel_ref_json(c, CHANNEL_READER);
    dial(&writer, c, CHANNEL_WRITER, NULL);
    (void)ws_send(writer.ws, false, "one", 3);
    (void)ws_send(writer.ws, true, "two", 3);
    ws_close(writer.ws, 1000, "stream_complete");
    CHECK(wait_for(&writer.log, "close:1000;")); /* at once */
    h.channel = channel_claim(hub, ref, &events, &h);
    CHECK(h.channel && channel_has_peer(h.channel));
    channel_hold(h.channel, true);
    fixture_turn(&fx, 20);
    CHECK_STR(buf_text(&h.log), "");
    channel_hold(h.channel, false);
    CHECK(wait_for(&h.log, "closed;"));
    CHECK_STR(buf_text(&h.log), "b:one;t:two;closed;");
    CHECK_INT(channel_hub_count(hub), 0);
    hang_up(&writer);
    buf_done(&h.log);
}

TEST(a_full_buffer_pauses_the_writer)
{
    struct peer writer, reader;
    struct channel *c = channel_new(hub, 0, NULL, NULL);
    channel_set_buffer(c, 0); /* at least one */
    dial(&writer, c, CHANNEL_WRITER, NULL);
    for (int i = 0; i < 3; i++)
        (void)ws_send(writer.ws, true, "x", 1);
    ws_close(writer.ws, 1000, "");
    fixture_turn(&fx, 50);
    CHECK_STR(buf_text(&writer.log), ""); /* the close is behind what waits */
    dial(&reader, c, CHANNEL_READER, NULL);
    CHECK(wait_for(&reader.log, "close:1000;"));
    CHECK_STR(buf_text(&reader.log), "t:x;t:x;t:x;close:1000;");
    CHECK(wait_for(&writer.log, "close:1000;"));
    hang_up(&writer);
    hang_up(&reader);
}

TEST(a_slow_reader_holds_the_writer)
{
    struct peer writer, reader;
    struct channel *c = channel_new(hub, 0, NULL, NULL);
    char *block = xzalloc(1 << 20);
    dial(&reader, c, CHANNEL_READER, NULL);
    dial(&writer, c, CHANNEL_WRITER, NULL);
    ws_hold(reader.ws, true);
    size_t queued = 0, sent = 0;
    for (int i = 0; i < 64 && queued < 8 << 20; i++) {
        queued = ws_send(writer.ws, false, block, 1 << 20);
        sent += 1 << 20;
        loopturn_ms(fx.loop, 2);
    }
    CHECK(queued > 0); /* it piles up at the writer, not in the middle */
    ws_hold(reader.ws, false);
    LOOPTURN_UNTIL(fx.loop, reader.bytes >= sent);
    CHECK_INT(reader.bytes, sent);
    ws_drop(STEAL(writer.ws)); /* a cut ends the stream too */
    CHECK(wait_for(&reader.log, "close:"));
    hang_up(&writer);
    hang_up(&reader);
    free(block);
}

TEST(an_end_is_claimed_once)
{
    struct holder h = { .log = BUF_INIT(65536) };
    struct peer first, second;
    h.channel = channel_new(hub, CHANNEL_WRITER, &events, &h);
    dial(&first, h.channel, CHANNEL_READER, NULL);
    CHECK(wait_for(&h.log, "claimed;"));
    dial(&second, h.channel, CHANNEL_READER, NULL);
    CHECK(wait_for(&second.log, "close:1008;"));
    (void)channel_write(h.channel, false, "still the first", 15);
    CHECK(wait_for(&first.log, "b:still the first;"));
    channel_close(h.channel, 1000, "");
    hang_up(&first);
    hang_up(&second);
    buf_done(&h.log);
}

TEST(wrong_keys_and_local_ends_are_not_found)
{
    struct holder h = { .log = BUF_INIT(65536) };
    struct peer p;
    h.channel = channel_new(hub, CHANNEL_WRITER, &events, &h);
    static const char *const keys[] = { "", "x", "00000000-0000-4000-8000-000000000000" };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        dial(&p, h.channel, CHANNEL_READER, keys[i]);
        CHECK(wait_for(&p.log, "close:1006;"));
        hang_up(&p);
    }
    dial(&p, h.channel, CHANNEL_WRITER, NULL); /* that end is held here */
    CHECK(wait_for(&p.log, "close:1006;"));
    hang_up(&p);
    CHECK_STR(buf_text(&h.log), "");
    CHECK(fixture_exchange(&fx, "GET /other HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n") &&
          fixture_has(&fx, " 404 "));
    channel_close(h.channel, 1000, "");
    buf_done(&h.log);
}

TEST(an_unclaimed_end_expires)
{
    struct holder h = { .log = BUF_INIT(65536) };
    struct peer writer;
    h.channel = channel_new(hub, CHANNEL_WRITER, &events, &h);
    struct channel *pair = channel_new(hub, 0, NULL, NULL);
    dial(&writer, pair, CHANNEL_WRITER, NULL);
    CHECK(wait_for(&h.log, "closed;"));
    CHECK(wait_for(&writer.log, "close:1001;"));
    CHECK_INT(channel_hub_count(hub), 0);
    hang_up(&writer);
    buf_done(&h.log);
}

/* A server whose channels expire after claim_ms. */
static void serve(int64_t claim_ms)
{
    static const struct http_limits limits = HTTP_LIMITS_DEFAULT;
    struct err err = ERR_INIT;
    hub = channel_hub_new(fx.loop, claim_ms);
    struct http_app app = channel_hub_app(hub);
    CHECK_INT(http_server_new(fx.loop, &app, &limits, &fx.server, &err), 0);
    CHECK_INT(http_server_listen_tcp(fx.server, "127.0.0.1", 0, &fx.port, &err), 0);
}

static void stop(void)
{
    fx.server = http_server_free(fx.server);
    hub = channel_hub_free(hub);
}

int main(void)
{
    struct err err = ERR_INIT;
    fx = (struct fixture){ .in = BUF_INIT(1 << 20) };
    CHECK_INT(loop_new(&fx.loop, &err), 0);
    serve(CHANNEL_CLAIM_MS);
    RUN(a_local_reader_hears_a_remote_writer);
    RUN(a_local_writer_reaches_a_remote_reader);
    RUN(two_clients_meet);
    RUN(a_local_reader_gets_what_was_written_before_it);
    RUN(a_full_buffer_pauses_the_writer);
    RUN(a_slow_reader_holds_the_writer);
    RUN(an_end_is_claimed_once);
    RUN(wrong_keys_and_local_ends_are_not_found);
    stop();
    serve(CLAIM_MS);
    RUN(an_unclaimed_end_expires);
    stop();
    fixture_done(&fx);
    return tap_done();
}
