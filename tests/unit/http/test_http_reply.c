/* The response parser over memory: whole, cut into single bytes, and malformed. */
#include "http/http_reply.h"

#include <errno.h>

#include "base/buf.h"
#include "tap.h"

static struct buf got;
static unsigned heads;
static int stop_after; /* data events; 0: never */

static void on_head(void *arg, struct http_reply *r, int status)
{
    (void)arg;
    heads++;
    CHECK_INT(http_reply_status(r), status);
}

static void on_data(void *arg, struct http_reply *r, const char *data, size_t len)
{
    (void)arg;
    (void)buf_add(&got, data, len);
    if (stop_after && --stop_after == 0)
        http_reply_stop(r);
}

static const struct http_reply_events events = { .on_head = on_head, .on_data = on_data };

/* Feeds in steps and gives the last state; *ret_rest: bytes behind the response. */
static int feed(struct http_reply *r, const char *text, size_t step, size_t *ret_rest)
{
    size_t len = strlen(text), at = 0;
    int state = HTTP_REPLY_MORE;
    buf_init(&got, 1 << 20);
    heads = 0;
    while (at < len && state == HTTP_REPLY_MORE) {
        size_t n = len - at < step ? len - at : step, used = 0;
        state = http_reply_feed(r, text + at, n, &used);
        CHECK(used <= n);
        at += used;
    }
    if (ret_rest)
        *ret_rest = len - at;
    return state;
}

#define OK_CHUNKED "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

struct shape {
    const char *text;
    bool is_head_method;
    int state, at_end; /* after all bytes; and what the end of the connection makes of it */
    const char *body;
};

static const struct shape shapes[] = {
    { "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", false, HTTP_REPLY_COMPLETE, 0, "hello" },
    { "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nT: r\r\n\r\n", false,
      HTTP_REPLY_COMPLETE, 0, "abcde" },
    { "HTTP/1.0 200 OK\r\n\r\nto the end", false, HTTP_REPLY_MORE, HTTP_REPLY_COMPLETE, "to the end" },
    { "HTTP/1.1 204 No Content\r\n\r\n", false, HTTP_REPLY_COMPLETE, 0, "" },
    { "HTTP/1.1 304 Not Modified\r\nContent-Length: 10\r\n\r\n", false, HTTP_REPLY_COMPLETE, 0, "" },
    { "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n", true, HTTP_REPLY_COMPLETE, 0, "" },
    { "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: "
      "1\r\n\r\n!",
      false, HTTP_REPLY_COMPLETE, 0, "!" },
    { "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel", false, HTTP_REPLY_MORE, -EPROTO, "hel" },
    { "HTTP/1.1 200 OK\r\nContent-Le", false, HTTP_REPLY_MORE, -EPROTO, "" },
    { "no HTTP at all\r\n\r\n", false, -EPROTO, 0, "" },
    { "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", false, -EPROTO, 0, "" },
    { "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", false, -EPROTO, 0, "" },
    { "HTTP/1.1 101 Switching Protocols\r\n\r\n", false, -EPROTO, 0, "" },
    { "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\rXa", false, -EPROTO, 0, "" },
    { "HTTP/1.1 200 OK\r\nA: b\rXContent-Length: 1\r\n\r\na", false, -EPROTO, 0, "" },
    { "HTTP/1.1 200 OK\nContent-Length: 1\r\n\r\na", false, -EPROTO, 0, "" },
    { "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\na", false, -EPROTO, 0, "" },
    { "HTTP/1.1 200 OK\r\nA: b\r\n c\r\nContent-Length: 1\r\n\r\na", false, -EPROTO, 0, "" },
    { OK_CHUNKED "3\rXabc\r\n0\r\n\r\n", false, -EPROTO, 0, "" },
    { OK_CHUNKED "3\nabc\r\n0\r\n\r\n", false, -EPROTO, 0, "" },
    { OK_CHUNKED "3\r\nabcXX0\r\n\r\n", false, -EPROTO, 0, "abc" },
    { OK_CHUNKED "3\r\nabc\n0\r\n\r\n", false, -EPROTO, 0, "abc" },
    { OK_CHUNKED "0\rX\r\n", false, -EPROTO, 0, "" },
    { OK_CHUNKED "0\r\n\rX", false, -EPROTO, 0, "" },
    { OK_CHUNKED "0\r\nT: a\n\r\n", false, -EPROTO, 0, "" },
    { "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked  \r\n\r\n1\r\na\r\n0\r\n\r\n", false, HTTP_REPLY_COMPLETE, 0,
      "a" },
    { "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\t\r\n\r\n1\r\na\r\n0\r\n\r\n", false, -EPROTO, 0, "" },
    { "HTTP/1.1 103 Early Hints\r\nContent-Length: 0\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n", false,
      HTTP_REPLY_COMPLETE, 0, "" },
    { "HTTP/1.1 103 Early Hints\r\nContent-Length: 1\r\n\r\na", false, -EPROTO, 0, "" },
    { "HTTP/1.1 103 Early Hints\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", false, -EPROTO, 0, "" },
    { "HTTP/2.0 200 OK\r\nContent-Length: 1\r\n\r\na", false, -EPROTO, 0, "" },
    { "HTTP/1.1 099 Odd\r\nContent-Length: 1\r\n\r\na", false, -EPROTO, 0, "" },
    { "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", false, -EPROTO, 0, "" },
    { "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", false, -EPROTO, 0,
      "" },
    { "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", false, -EPROTO, 0, "" },
    { "HTTP/1.1 200 OK\r\nContent-Length : 1\r\n\r\na", false, -EPROTO, 0, "" },
    { "HTTP/1.1 200 OK\r\nA: b\001\r\nContent-Length: 1\r\n\r\na", false, -EPROTO, 0, "" },
    { "HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775808\r\n\r\na", false, -EPROTO, 0, "" },
};

TEST(responses_of_every_shape)
{
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        for (size_t step = 1; step < 4096; step = step == 1 ? 7 : step * 100) {
            const struct shape *s = &shapes[i];
            CLEANUP(http_reply_free_p) struct http_reply *r = http_reply_new(s->is_head_method, &events, NULL);
            int state = feed(r, s->text, step, NULL);
            CHECK_INT(state, s->state);
            CHECK_STR(buf_text(&got), s->body);
            if (state == HTTP_REPLY_MORE)
                CHECK_INT(http_reply_eof(r), s->at_end);
            if (state < 0)
                CHECK(*http_reply_problem(r));
            buf_done(&got);
        }
    }
}

TEST(an_upgrade_leaves_the_rest)
{
    static const char text[] =
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nother bytes";
    CLEANUP(http_reply_free_p) struct http_reply *r = http_reply_new(false, &events, NULL);
    size_t rest = 0;
    CHECK_INT(feed(r, text, sizeof text, &rest), HTTP_REPLY_UPGRADED);
    CHECK_INT(rest, strlen("other bytes"));
    CHECK_INT(heads, 1);
    buf_done(&got);
}

TEST(headers_are_read_in_order)
{
    CLEANUP(http_reply_free_p) struct http_reply *r = http_reply_new(false, &events, NULL);
    const char *name, *value;
    CHECK_INT(
        feed(r, "HTTP/1.1 200 OK\r\nA: 1\r\nSet-Cookie: x\r\nset-cookie: y\r\nContent-Length: 0\r\n\r\n", 5, NULL),
        HTTP_REPLY_COMPLETE);
    CHECK_STR(http_reply_header(r, "SET-COOKIE"), "x");
    CHECK(http_reply_header_at(r, 2, &name, &value) && strcmp(name, "set-cookie") == 0 && strcmp(value, "y") == 0);
    CHECK(!http_reply_header_at(r, 4, &name, &value));
    CHECK(!http_reply_header(r, "missing"));
    buf_done(&got);
}

TEST(heads_are_bounded)
{
    struct buf text = BUF_INIT(1 << 20);
    (void)buf_add_str(&text, "HTTP/1.1 200 OK\r\n");
    for (int i = 0; i < 101; i++)
        (void)buf_addf(&text, "H%d: v\r\n", i);
    (void)buf_add_str(&text, "\r\n");
    CLEANUP(http_reply_free_p) struct http_reply *many = http_reply_new(false, &events, NULL);
    CHECK_INT(feed(many, buf_text(&text), 1000, NULL), -EPROTO);
    buf_done(&got);
    buf_clear(&text);
    (void)buf_add_str(&text, "HTTP/1.1 200 OK\r\nLong: ");
    for (int i = 0; i < 70000; i++)
        (void)buf_add_char(&text, 'x');
    CLEANUP(http_reply_free_p) struct http_reply *wide = http_reply_new(false, &events, NULL);
    CHECK_INT(feed(wide, buf_text(&text), 1000, NULL), -EPROTO);
    static const char interim[] = "HTTP/1.1 100 Continue\r\n\r\n"; /* each in a piece of its own */
    CLEANUP(http_reply_free_p) struct http_reply *flood = http_reply_new(false, &events, NULL);
    int state = HTTP_REPLY_MORE;
    for (int i = 0; i < 10000 && state == HTTP_REPLY_MORE; i++)
        state = http_reply_feed(flood, interim, sizeof interim - 1, NULL);
    CHECK_INT(state, -EPROTO);
    buf_done(&got);
    buf_done(&text);
}

TEST(stopping_inside_an_event)
{
    CLEANUP(http_reply_free_p) struct http_reply *r = http_reply_new(false, &events, NULL);
    stop_after = 1;
    CHECK_INT(feed(r, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n1\r\nb\r\n0\r\n\r\n", 4096, NULL),
              HTTP_REPLY_STOPPED);
    CHECK_STR(buf_text(&got), "a");
    stop_after = 0;
    buf_done(&got);
}

int main(void)
{
    RUN(responses_of_every_shape);
    RUN(an_upgrade_leaves_the_rest);
    RUN(headers_are_read_in_order);
    RUN(heads_are_bounded);
    RUN(stopping_inside_an_event);
    return tap_done();
}
