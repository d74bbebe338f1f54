/* The parser of a stream of requests: whole, cut into pieces, and everything that two servers could read in two ways.
 */
#include "http/http_requests.h"

#include <errno.h>

#include "base/buf.h"
#include "tap.h"

static struct buf hosts = BUF_INIT(4096);

static bool on_request(void *arg, const struct http_requests_head *head)
{
    (void)arg;
    (void)buf_addf(&hosts, "%s%s ", head->host ? head->host : "-", head->is_upgrade ? "+" : "");
    return !head->host || strcmp(head->host, "evil") != 0;
}

/* How many bytes were cleared; *ret: the last result. */
static size_t feed(const char *text, size_t step, int *ret)
{
    CLEANUP(http_requests_free_p) struct http_requests *r = http_requests_new(on_request, NULL);
    size_t len = strlen(text), pass, all = 0;
    *ret = 0;
    buf_clear(&hosts);
    for (size_t at = 0; at < len && *ret == 0; at += step) {
        *ret = http_requests_feed(r, text + at, len - at < step ? len - at : step, &pass);
        all += pass;
    }
    CHECK((*ret < 0) == (*http_requests_problem(r) != 0));
    return all;
}

#define GET  "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
#define POST "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc"
#define SENT "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nT: r\r\n\r\n"

TEST(requests_are_cleared_one_by_one)
{
    static const struct {
        const char *text, *hosts;
    } rows[] = { { GET, "a " },
                 { GET GET, "a a " },
                 { POST GET SENT GET, "a a a a " },
                 { "GET http://A/x HTTP/1.1\r\nHost: a\r\n\r\n" GET, "a a " },
                 { "GET / HTTP/1.0\r\n\r\n", "- " },
                 { "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", "a+ " } };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        for (size_t step = 1; step < 200; step += step < 8 ? 1 : 61) {
            int r;
            CHECK_INT(feed(rows[i].text, step, &r), strlen(rows[i].text));
            CHECK_INT(r, 0);
            CHECK_STR(buf_text(&hosts), rows[i].hosts);
        }
}

TEST(a_head_that_is_not_whole_is_held)
{
    int r;
    CHECK_INT(feed("GET / HTTP/1.1\r\nHost: a\r\n", 1, &r), 0);
    CHECK_INT(feed(GET "GET / HTTP/1.1\r\nHost: ev", 1, &r), strlen(GET));
    CHECK_INT(r, 0);
}

TEST(what_is_denied_or_ambiguous_stops_the_stream)
{
    static const char *const bad[] = {
        "GET / HTTP/1.1\r\nHost: evil\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nHost: evil\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a, evil\r\n\r\n",
        "GET / HTTP/1.1\r\n\r\n",
        "GET http://evil/ HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET http://a@evil/ HTTP/1.1\r\nHost: a\r\n\r\n",
        "CONNECT evil:443 HTTP/1.1\r\nHost: a\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\n Host: evil\r\n\r\n",
        "GET / HTTP/1.1\r\nHost : a\r\n\r\n",
        "GET /  HTTP/1.1\r\nHost: a\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nContent_Length: 3\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n",
        "hello\r\n\r\n",
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        for (size_t step = 1; step < 200; step += 199) {
            CLEANUP(free_p) char *text = NULL;
            int r;
            CHECK_INT(feed(bad[i], step, &r), 0);
            CHECK_INT(r, -EPROTO);
            CHECK(asprintf(&text, "%s%s", POST, bad[i]) > 0); /* the request before it has gone */
            CHECK_INT(feed(text, step, &r), strlen(POST));
            CHECK_INT(r, -EPROTO);
        }
}

TEST(a_head_has_a_limit)
{
    CLEANUP(buf_done) struct buf big = BUF_INIT(1 << 20);
    int r;
    (void)buf_add_str(&big, "GET / HTTP/1.1\r\nHost: a\r\nX: ");
    for (int i = 0; i < 66000; i++)
        (void)buf_add_str(&big, "x");
    CHECK_INT(feed(buf_text(&big), 1000, &r), 0);
    CHECK_INT(r, -EPROTO);
    buf_clear(&big);
    (void)buf_add_str(&big, "GET / HTTP/1.1\r\nHost: a\r\n");
    for (int i = 0; i < 300; i++)
        (void)buf_add_str(&big, "X: y\r\n");
    CHECK_INT(feed(buf_text(&big), 1000, &r), 0);
    CHECK_INT(r, -EPROTO);
}

int main(void)
{
    RUN(requests_are_cleared_one_by_one);
    RUN(a_head_that_is_not_whole_is_held);
    RUN(what_is_denied_or_ambiguous_stops_the_stream);
    RUN(a_head_has_a_limit);
    buf_done(&hosts);
    return tap_done();
}
