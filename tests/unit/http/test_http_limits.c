/* Everything the server refuses: caps, deadlines, request smuggling. Each case crosses one line. */
#include <sys/resource.h>

#include "base/alloc.h"
#include "http/server_fixture.h"

#define HEAD    "GET / HTTP/1.1\r\nHost: x\r\n"
#define CHUNKED "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"

static struct fixture fx;
static unsigned request_count;

static struct http_body_rule on_head(void *arg, struct http_req *r)
{
    (void)arg;
    (void)r;
    return (struct http_body_rule){ .max_bytes = 10 };
}

static void on_request(void *arg, struct http_req *r)
{
    (void)arg;
    request_count++;
    if (strcmp(http_req_path(r), "/big") == 0) {
        size_t len = 32 << 20; /* more than the kernel buffers */
        char *body = xzalloc(len);
        http_req_reply(r, 200, "text/plain", body, len);
        free(body);
        return;
    }
    http_req_reply(r, 200, "text/plain", "fine", 4);
}

static const struct http_app app = { .on_head = on_head, .on_request = on_request };

static void begin_with(int64_t head_ms, int64_t idle_ms, int64_t body_grace_ms)
{
    struct http_limits lim = {
        .head_bytes = 1000,
        .header_count = 5,
        .url_bytes = 100,
        .head_ms = head_ms,
        .idle_ms = idle_ms,
        .body_min_bytes_s = 1000,
        .body_grace_ms = body_grace_ms,
        .connections = 3,
        .queued_bytes = 65536,
    };
    fixture_init(&fx, &app, &lim);
    request_count = 0;
}

/* Without a deadline that a busy host might pass. */
static void begin(void)
{
    begin_with(60000, 60000, 60000);
}

/* The text must be answered with the status and a JSON error, then the connection must end. */
static void check_refused(const char *what, const char *text, int status)
{
    char line[32];
    unsigned before = request_count;
    bool is_closed = fixture_exchange(&fx, text);
    snprintf(line, sizeof line, "HTTP/1.1 %d ", status);
    bool is_right = is_closed && strncmp(buf_text(&fx.in), line, strlen(line)) == 0 &&
                    fixture_has(&fx, "\r\n\r\n{\"error\":\"") && fixture_has(&fx, "Connection: close\r\n") &&
                    request_count == before;
    if (!is_right)
        printf("# %s: closed %d, requests %u, got: %.200s\n", what, is_closed, request_count - before,
               buf_text(&fx.in));
    CHECK(is_right);
}

static const struct {
    const char *what, *text;
    int status;
} cases[] = {
    { "two lengths", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\na", 400 },
    { "different lengths", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", 400 },
    { "list of lengths", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1, 1\r\n\r\na", 400 },
    { "signed length", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: +1\r\n\r\na", 400 },
    { "negative length", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\na", 400 },
    { "empty length", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length:\r\n\r\na", 400 },
    { "length and encoding",
      "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400 },
    { "encoding and length",
      "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n0\r\n\r\n", 400 },
    { "gzip, chunked", "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 400 },
    { "chunked, identity", "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n", 400 },
    { "gzip", "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n", 400 },
    { "two encodings",
      "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400 },
    { "encoding in 1.0", "POST / HTTP/1.0\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400 },
    { "folded line", HEAD "A: b\r\n c\r\n\r\n", 400 },
    { "folded line by tab", HEAD "A: b\r\n\tc\r\n\r\n", 400 },
    { "blank first line", "GET / HTTP/1.1\r\n Host: x\r\n\r\n", 400 },
    { "no host", "GET / HTTP/1.1\r\nA: b\r\n\r\n", 400 },
    { "two hosts", HEAD "Host: x\r\n\r\n", 400 },
    { "host with path", "GET / HTTP/1.1\r\nHost: x/y\r\n\r\n", 400 },
    { "blank before colon", HEAD "Content-Length : 1\r\n\r\na", 400 },
    { "blank in name", HEAD "A B: c\r\n\r\n", 400 },
    { "slash in name", HEAD "A/B: c\r\n\r\n", 400 },
    { "high byte in name", HEAD "A\xff: c\r\n\r\n", 400 },
    { "empty name", HEAD ": c\r\n\r\n", 400 },
    { "control in value", HEAD "A: b\001c\r\n\r\n", 400 },
    { "bare CR in value", HEAD "A: b\rc\r\n\r\n", 400 },
    { "bare CR ends the head", HEAD "\rXGET /second HTTP/1.1\r\nHost: x\r\n\r\n", 400 },
    { "bare CR ends a line", "GET / HTTP/1.1\rXHost: x\r\n\r\n", 400 },
    { "bare CR ends a header", HEAD "A: b\rX: c\r\n\r\n", 400 },
    { "bare CR before the request", "\rGET / HTTP/1.1\r\nHost: x\r\n\r\n", 400 },
    { "LF ends the head", HEAD "\n", 400 },
    { "CR CR LF", HEAD "A: b\r\r\n\r\n", 400 },
    { "CR ends a chunk size", CHUNKED "3\rXabc\r\n0\r\n\r\n", 400 },
    { "LF ends a chunk size", CHUNKED "3\nabc\r\n0\r\n\r\n", 400 },
    { "CR ends an extension", CHUNKED "3;a=b\rXabc\r\n0\r\n\r\n", 400 },
    { "LF ends an extension", CHUNKED "3;a\nabc\r\n0\r\n\r\n", 400 },
    { "blank before a chunk size", CHUNKED " 3\r\nabc\r\n0\r\n\r\n", 400 },
    { "blank after a chunk size", CHUNKED "3 \r\nabc\r\n0\r\n\r\n", 400 },
    { "sign before a chunk size", CHUNKED "+3\r\nabc\r\n0\r\n\r\n", 400 },
    { "0x before a chunk size", CHUNKED "0x3\r\nabc\r\n0\r\n\r\n", 400 },
    { "empty chunk size", CHUNKED "\r\n0\r\n\r\n", 400 },
    { "other bytes after chunk data", CHUNKED "3\r\nabcXX0\r\n\r\n", 400 },
    { "CR and a byte after chunk data", CHUNKED "3\r\nabc\rX0\r\n\r\n", 400 },
    { "LF after chunk data", CHUNKED "3\r\nabc\n0\r\n\r\n", 400 },
    { "CR ends the last chunk", CHUNKED "0\rX\r\n", 400 },
    { "LF ends the last chunk", CHUNKED "0\n\r\n", 400 },
    { "CR and a byte end the body", CHUNKED "0\r\n\rXGET /second HTTP/1.1\r\nHost: x\r\n\r\n", 400 },
    { "LF ends the body", CHUNKED "0\r\n\n", 400 },
    { "CR ends a trailer", CHUNKED "0\r\nT: a\rXU: b\r\n\r\n", 400 },
    { "LF ends a trailer", CHUNKED "0\r\nT: a\n\r\n", 400 },
    { "folded trailer", CHUNKED "0\r\nT: a\r\n b\r\n\r\n", 400 },
    { "bare LF", "GET / HTTP/1.1\nHost: x\n\n", 400 },
    { "bare LF after a header", HEAD "A: b\nB: c\r\n\r\n", 400 },
    { "fragment", "GET /a#b HTTP/1.1\r\nHost: x\r\n\r\n", 400 },
    { "high byte in path", "GET /\xc3\xa4 HTTP/1.1\r\nHost: x\r\n\r\n", 400 },
    { "no slash", "GET a HTTP/1.1\r\nHost: x\r\n\r\n", 400 },
    { "bad chunk size", "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400 },
    { "endless chunk size", "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n11111111111111111\r\n",
      400 },
    { "connect", "CONNECT a:1 HTTP/1.1\r\nHost: x\r\n\r\n", 501 },
    { "unknown method", "BREW / HTTP/1.1\r\nHost: x\r\n\r\n", 501 },
    { "two spaces before the target", "GET  / HTTP/1.1\r\nHost: x\r\n\r\n", 400 },
    { "two spaces after the target", "GET /  HTTP/1.1\r\nHost: x\r\n\r\n", 400 },
    { "space after the version", "GET / HTTP/1.1 \r\nHost: x\r\n\r\n", 400 },
    { "another protocol", "OPTIONS / RTSP/1.0\r\nHost: x\r\n\r\n", 400 },
    { "no version", "GET /\r\n\r\n", 505 },
    { "target of another host", "GET http://y/ HTTP/1.1\r\nHost: x\r\n\r\n", 400 },
    { "target of a longer host", "GET http://xy/ HTTP/1.1\r\nHost: x\r\n\r\n", 400 },
    { "length with an underscore", HEAD "Content_Length: 1\r\n\r\na", 400 },
    { "encoding with an underscore", HEAD "transfer_encoding: chunked\r\n\r\n", 400 },
    { "length past 63 bits", HEAD "Content-Length: 9223372036854775808\r\n\r\n", 400 },
    { "HTTP/2 in a request line", "GET / HTTP/2.0\r\nHost: x\r\n\r\n", 505 },
    { "HTTP/0.9", "GET / HTTP/0.9\r\nHost: x\r\n\r\n", 505 },
    { "HTTP/1.2", "GET / HTTP/1.2\r\nHost: x\r\n\r\n", 505 },
    { "not HTTP", "\x16\x03\x01\x02", 501 },
    { "body past the rule", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 11\r\n\r\n", 413 },
    { "chunks past the rule", "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nb\r\n12345678901\r\n",
      413 },
};

TEST(smuggling_and_malformed_heads_are_refused)
{
    begin();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_refused(cases[i].what, cases[i].text, cases[i].status);
    fixture_done(&fx);
}

TEST(a_client_of_http_2_is_told_in_frames)
{
    static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    static const char frames[] = "\0\0\0\4\0\0\0\0\0"                    /* empty SETTINGS */
                                 "\0\0\x2f\7\0\0\0\0\0\0\0\0\0\0\0\0\xd" /* GOAWAY before stream 1: HTTP_1_1_REQUIRED */
                                 "HTTP/2 is not served here: use HTTP/1.1";
    begin();
    CHECK(fixture_exchange(&fx, preface));
    CHECK_INT(fx.in.len, sizeof frames - 1);
    CHECK(memcmp(buf_text(&fx.in), frames, sizeof frames - 1) == 0);
    fixture_done(&fx);
}

static const char *repeat(char *out, const char *before, char c, size_t count, const char *after)
{
    size_t n = strlen(before);
    memcpy(out, before, n);
    memset(out + n, c, count);
    memcpy(out + n + count, after, strlen(after) + 1);
    return out;
}

TEST(caps_on_url_head_and_count_hold_at_their_edges)
{
    static char text[8192];
    begin();
    CHECK(fixture_exchange(&fx, repeat(text, "GET /", 'a', 99, " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")));
    CHECK(fixture_has(&fx, "200 OK"));
    check_refused("url", repeat(text, "GET /", 'a', 100, " HTTP/1.1\r\nHost: x\r\n\r\n"), 414);
    CHECK(fixture_exchange(&fx, HEAD "A: 1\r\nB: 2\r\nC: 3\r\nConnection: close\r\n\r\n"));
    CHECK(fixture_has(&fx, "200 OK"));
    check_refused("count", HEAD "A: 1\r\nB: 2\r\nC: 3\r\nD: 4\r\nE: 5\r\n\r\n", 431);
    check_refused("value", repeat(text, HEAD "A: ", 'v', 1000, "\r\n\r\n"), 431);
    check_refused("name", repeat(text, HEAD, 'n', 1000, ": v\r\n\r\n"), 431);
    check_refused("blanks the parser skips", repeat(text, HEAD "A:", ' ', 1100, ""), 431);
    check_refused("empty lines before", repeat(text, "\r\n\r\n", '\n', 1100, ""), 400);
    check_refused(
        "chunk extensions",
        repeat(text, "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1;", 'e', 1100, "\r\na\r\n"),
        413);
    check_refused(
        "trailers",
        repeat(text, "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nT: ", 't', 1100, "\r\n\r\n"),
        413);
    fixture_done(&fx);
}

TEST(a_slow_head_is_cut_at_the_absolute_deadline)
{
    begin_with(300, 600, 60000);
    int fd = fixture_connect(&fx);
    int64_t start = clock_mono_us();
    fixture_say(fd, "GET / HTTP/1.1\r\nHost: x\r\nA: ");
    bool is_cut = false;
    for (int i = 0; i < 75 && !is_cut; i++) { /* every drip would renew an idle time-out */
        (void)!send(fd, "a", 1, MSG_NOSIGNAL);
        fixture_turn(&fx, 20);
        is_cut = fixture_read_some(&fx, fd) >= 0;
    }
    CHECK(is_cut && clock_mono_us() - start >= 280000);
    CHECK(fixture_has(&fx, "HTTP/1.1 408 "));
    close(fd);
    fixture_done(&fx);
}

TEST(silent_and_idle_connections_are_closed)
{
    begin_with(300, 3000, 60000);
    int silent = fixture_connect(&fx), idle = fixture_connect(&fx);
    fixture_say(idle, HEAD "\r\n");
    CHECK(fixture_wait(&fx, idle, "fine"));
    CHECK(fixture_wait(&fx, silent, NULL));
    CHECK_INT(http_server_connections(fx.server), 1);
    CHECK(fixture_wait(&fx, idle, NULL));
    CHECK(!fixture_has(&fx, "408"));
    close(silent);
    close(idle);
    fixture_done(&fx);
}

TEST(a_slow_body_is_cut)
{
    begin_with(60000, 60000, 1000);
    int fd = fixture_connect(&fx);
    fixture_say(fd, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n");
    for (int i = 0; i < 5; i++) {
        (void)!send(fd, "a", 1, MSG_NOSIGNAL); /* a busy host may have cut it already */
        fixture_turn(&fx, 100);
    }
    CHECK(fixture_wait(&fx, fd, NULL));
    CHECK(fixture_has(&fx, "HTTP/1.1 408 "));
    CHECK_INT(request_count, 0);
    close(fd);
    fixture_done(&fx);
}

TEST(connections_past_the_limit_are_told_and_closed)
{
    begin();
    int fds[3]; /* with requests in progress, which do not make room */
    for (int i = 0; i < 3; i++) {
        fds[i] = fixture_connect(&fx);
        fixture_say(fds[i], "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n");
        CHECK(fixture_wait(&fx, fds[i], "100 Continue"));
    }
    CHECK_INT(http_server_connections(fx.server), 3);
    request_count = 0;
    check_refused("fourth", HEAD "\r\n", 503);
    close(fds[0]);
    LOOPTURN_UNTIL(fx.loop, http_server_connections(fx.server) < 3);
    CHECK(fixture_exchange(&fx, HEAD "Connection: close\r\n\r\n"));
    CHECK(fixture_has(&fx, "200 OK"));
    close(fds[1]);
    close(fds[2]);
    fixture_done(&fx);
}

TEST(half_a_head_locks_nobody_out)
{
    begin_with(60000, 60000, 60000);
    int known = fixture_connect(&fx), oldest, next;
    fixture_say(known, HEAD "\r\n");
    CHECK(fixture_wait(&fx, known, "fine"));
    oldest = fixture_connect(&fx);
    fixture_say(oldest, "GET / HT");
    LOOPTURN_UNTIL(fx.loop, http_server_connections(fx.server) == 2);
    next = fixture_connect(&fx);
    LOOPTURN_UNTIL(fx.loop, http_server_connections(fx.server) == 3);
    int fourth = fixture_connect(&fx);
    fixture_say(fourth, HEAD "\r\n");
    CHECK(fixture_wait(&fx, fourth, "fine"));
    CHECK(fixture_wait(&fx, oldest, NULL)); /* it had to go */
    CHECK_INT(http_server_connections(fx.server), 3);
    buf_clear(&fx.in);
    fixture_say(next, HEAD "\r\n"); /* who came later is served, and who has sent a request before */
    CHECK(fixture_wait(&fx, next, "fine"));
    buf_clear(&fx.in);
    fixture_say(known, HEAD "\r\n");
    CHECK(fixture_wait(&fx, known, "fine"));
    int fifth = fixture_connect(&fx); /* all three are known now: the oldest between two requests goes */
    fixture_say(fifth, HEAD "\r\n");
    CHECK(fixture_wait(&fx, fifth, "fine"));
    CHECK(fixture_wait(&fx, known, NULL));
    CHECK_INT(http_server_connections(fx.server), 3);
    close(fifth);
    close(known);
    close(oldest);
    close(next);
    close(fourth);
    fixture_done(&fx);
}

TEST(who_has_most_connections_loses_them_first)
{
    begin_with(60000, 60000, 60000);
    int quiet = fixture_connect_from(&fx, "127.0.0.2"), loud[3];
    fixture_say(quiet, "GET / HT"); /* the oldest of all */
    LOOPTURN_UNTIL(fx.loop, http_server_connections(fx.server) == 1);
    for (unsigned i = 0; i < 3; i++) {
        loud[i] = fixture_connect(&fx);
        fixture_say(loud[i], "GET / HT");
        LOOPTURN_UNTIL(fx.loop, http_server_connections(fx.server) == (i < 2 ? i + 2 : 3));
    }
    CHECK(fixture_wait(&fx, loud[0], NULL)); /* its own oldest made room */
    fixture_say(quiet, &HEAD[8]);
    fixture_say(quiet, "\r\n");
    CHECK(fixture_wait(&fx, quiet, "fine"));
    for (int i = 0; i < 3; i++)
        close(loud[i]);
    close(quiet);
    fixture_done(&fx);
}

TEST(a_client_that_does_not_read_is_cut)
{
    begin_with(60000, 600, 60000);
    int fd = fixture_connect(&fx);
    fixture_say(fd, "GET /big HTTP/1.1\r\nHost: x\r\n\r\n");
    LOOPTURN_UNTIL(fx.loop, request_count);
    CHECK_INT(request_count, 1);
    LOOPTURN_UNTIL(fx.loop, !http_server_connections(fx.server));
    CHECK_INT(http_server_connections(fx.server), 0);
    close(fd);
    fixture_done(&fx);
}

TEST(running_out_of_descriptors_passes)
{
    begin();
    struct rlimit old, none;
    int fd = fixture_connect(&fx);
    fixture_say(fd, HEAD "\r\n");
    CHECK_INT(getrlimit(RLIMIT_NOFILE, &old), 0);
    none = old;
    none.rlim_cur = (rlim_t)fd; /* none free below it */
    CHECK_INT(setrlimit(RLIMIT_NOFILE, &none), 0);
    fixture_turn(&fx, 20);
    CHECK_INT(http_server_connections(fx.server), 0);
    CHECK_INT(setrlimit(RLIMIT_NOFILE, &old), 0);
    CHECK(fixture_wait(&fx, fd, "fine"));
    close(fd);
    fixture_done(&fx);
}

int main(void)
{
    RUN(smuggling_and_malformed_heads_are_refused);
    RUN(a_client_of_http_2_is_told_in_frames);
    RUN(caps_on_url_head_and_count_hold_at_their_edges);
    RUN(a_slow_head_is_cut_at_the_absolute_deadline);
    RUN(silent_and_idle_connections_are_closed);
    RUN(a_slow_body_is_cut);
    RUN(connections_past_the_limit_are_told_and_closed);
    RUN(half_a_head_locks_nobody_out);
    RUN(who_has_most_connections_loses_them_first);
    RUN(a_client_that_does_not_read_is_cut);
    RUN(running_out_of_descriptors_passes);
    return tap_done();
}
