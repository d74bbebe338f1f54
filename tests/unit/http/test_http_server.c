/* The server over real sockets: requests, replies, keep-alive, pipelining, upgrades, listening. */
#include <sys/stat.h>

#include "http/server_fixture.h"

#define GET(path) "GET " path " HTTP/1.1\r\nHost: x\r\n\r\n"

static struct fixture fx;
static struct http_req *pending[64];
static unsigned pending_count, request_count, depth, depth_max;

static struct http_body_rule on_head(void *arg, struct http_req *r)
{
    (void)arg;
    if (strcmp(http_req_path(r), "/early") == 0)
        http_req_reply(r, 401, "text/plain", "who?", 4);
    return (struct http_body_rule){ .max_bytes = 1 << 20 };
}

static void echo(struct http_req *r)
{
    size_t len;
    const char *body = http_req_body(r, &len);
    char note[64];
    snprintf(note, sizeof note, "%s %zu", http_req_method(r), len);
    http_req_add_header(r, "X-Note", note);
    http_req_add_header(r, "X-Bad", "a\r\nInjected: 1");
    http_req_reply(r, 200, "text/plain", body, len);
}

static void describe(struct http_req *r)
{
    char text[512];
    const char *x = http_req_header(r, "x-thing");
    int n = snprintf(text, sizeof text, "<%s|%s|%s|%s>", http_req_path(r), http_req_query(r), x ? x : "-",
                     http_req_peer(r));
    http_req_reply(r, 200, "text/plain", text, (size_t)n);
}

static void on_request(void *arg, struct http_req *r)
{
    (void)arg;
    const char *path = http_req_path(r);
    request_count++;
    depth++;
    depth_max = depth > depth_max ? depth : depth_max;
    if (strcmp(path, "/echo") == 0)
        echo(r);
    else if (strcmp(path, "/empty") == 0)
        http_req_reply(r, 204, NULL, NULL, 0);
    else if (strcmp(path, "/wait") == 0)
        pending[pending_count++ % 64] = http_req_ref(r);
    else
        describe(r);
    depth--;
}

static const struct http_app app = { .on_head = on_head, .on_request = on_request };

static void begin(void)
{
    fixture_init(&fx, &app, NULL);
    pending_count = request_count = depth = depth_max = 0;
}

TEST(a_post_is_echoed_with_date_and_headers)
{
    begin();
    int fd = fixture_connect(&fx);
    fixture_say(fd, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello");
    CHECK(fixture_wait(&fx, fd, "\r\n\r\nhello"));
    CHECK(fixture_has(&fx, "HTTP/1.1 200 OK\r\nDate: "));
    CHECK(fixture_has(&fx, " GMT\r\n"));
    CHECK(fixture_has(&fx, "Content-Length: 5\r\n"));
    CHECK(fixture_has(&fx, "X-Note: POST 5\r\n"));
    CHECK(!fixture_has(&fx, "Injected"));
    CHECK(!fixture_has(&fx, "Connection: close"));
    CHECK_INT(http_server_connections(fx.server), 1);
    close(fd);
    LOOPTURN_UNTIL(fx.loop, !http_server_connections(fx.server));
    CHECK_INT(http_server_connections(fx.server), 0);
    fixture_done(&fx);
}

TEST(bodies_on_get_and_delete_and_chunks_are_read)
{
    begin();
    int fd = fixture_connect(&fx);
    fixture_say(fd, "GET /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nget");
    CHECK(fixture_wait(&fx, fd, "\r\n\r\nget"));
    fixture_say(fd, "DELETE /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: "
                    "chunked\r\n\r\n3\r\ndel\r\n3;ext=1\r\nete\r\n0\r\nT: x\r\n\r\n");
    CHECK(fixture_wait(&fx, fd, "\r\n\r\ndelete"));
    CHECK(fixture_has(&fx, "X-Note: DELETE 6"));
    close(fd);
    fixture_done(&fx);
}

TEST(path_query_and_headers_come_raw)
{
    begin();
    int fd = fixture_connect(&fx);
    fixture_say(fd, "GET /a%2Fb?c=d&e HTTP/1.1\r\nHost: x\r\nX-Thing:  some value \t\r\nEmpty:\r\n\r\n");
    CHECK(fixture_wait(&fx, fd, "</a%2Fb|c=d&e|some value|127.0.0.1:"));
    fixture_say(fd, "GET http://host:1/p?q HTTP/1.1\r\nHost: host:1\r\n\r\n");
    CHECK(fixture_wait(&fx, fd, "</p|q|-|"));
    fixture_say(fd, "GET http://host?only HTTP/1.1\r\nHost: HOST\r\n\r\n");
    CHECK(fixture_wait(&fx, fd, "</|only|-|"));
    fixture_say(fd, "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n");
    CHECK(fixture_wait(&fx, fd, "<*||-|"));
    close(fd);
    fixture_done(&fx);
}

TEST(a_head_split_into_single_bytes_is_the_same)
{
    begin();
    int fd = fixture_connect(&fx);
    const char *text = "POST /echo?x=1 HTTP/1.1\r\nHost: x\r\nX-Thing: v\r\nContent-Length: 2\r\n\r\nok";
    for (const char *p = text; *p; p++) {
        fixture_write(fd, p, 1);
        fixture_turn(&fx, 0);
    }
    CHECK(fixture_wait(&fx, fd, "\r\n\r\nok"));
    close(fd);
    fixture_done(&fx);
}

TEST(head_and_204_have_no_body)
{
    begin();
    int fd = fixture_connect(&fx);
    fixture_say(fd, "HEAD /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody");
    fixture_say(fd, GET("/empty"));
    CHECK(fixture_wait(&fx, fd, "204 No Content"));
    CHECK(fixture_has(&fx, "Content-Length: 4\r\n"));
    CHECK(!fixture_has(&fx, "\r\n\r\nbody"));
    CHECK_INT(fixture_count(&fx, "Content-Length"), 1);
    close(fd);
    fixture_done(&fx);
}

TEST(pipelined_requests_are_answered_in_order_without_recursion)
{
    begin();
    int fd = fixture_connect(&fx);
    struct buf all = BUF_INIT(1 << 20);
    for (int i = 0; i < 500; i++)
        (void)buf_addf(&all, "GET /%d HTTP/1.1\r\nHost: x\r\n\r\n", i);
    fixture_write(fd, all.data, all.len);
    CHECK(fixture_wait(&fx, fd, "</499|"));
    CHECK_INT(request_count, 500);
    CHECK_INT(depth_max, 1);
    const char *at = buf_text(&fx.in);
    for (int i = 0; i < 500 && at; i++) {
        char want[16];
        snprintf(want, sizeof want, "</%d|", i);
        at = strstr(at, want);
    }
    CHECK(at);
    buf_done(&all);
    close(fd);
    fixture_done(&fx);
}

TEST(the_next_pipelined_request_waits_for_a_deferred_reply)
{
    begin();
    int fd = fixture_connect(&fx);
    fixture_say(fd, GET("/wait") GET("/wait") GET("/last"));
    LOOPTURN_UNTIL(fx.loop, request_count);
    fixture_turn(&fx, 20);
    CHECK_INT(request_count, 1);
    http_req_reply(pending[0], 200, "text/plain", "first", 5);
    CHECK_INT(request_count, 1); /* never from inside the reply */
    CHECK(fixture_wait(&fx, fd, "first"));
    LOOPTURN_UNTIL(fx.loop, request_count > 1);
    fixture_turn(&fx, 5);
    CHECK_INT(request_count, 2);
    http_req_reply(pending[1], 200, "text/plain", "second", 6);
    http_req_reply(pending[1], 200, "text/plain", "twice", 5); /* a second reply is a no-op */
    CHECK(fixture_wait(&fx, fd, "</last|"));
    CHECK(!fixture_has(&fx, "twice"));
    CHECK(!http_req_is_gone(pending[0]));
    CHECK_STR(http_req_path(pending[0]), "/wait"); /* a reference keeps the text */
    (void)http_req_unref(pending[0]);
    (void)http_req_unref(pending[1]);
    close(fd);
    fixture_done(&fx);
}

TEST(close_and_http_1_0_end_the_connection)
{
    begin();
    CHECK(fixture_exchange(&fx, "GET /one HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
    CHECK(fixture_has(&fx, "Connection: close\r\n") && fixture_has(&fx, "</one|"));
    CHECK(fixture_exchange(&fx, "GET /ten HTTP/1.0\r\n\r\n"));
    CHECK(fixture_has(&fx, "</ten|"));
    int fd = fixture_connect(&fx);
    fixture_say(fd, "GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    CHECK(fixture_wait(&fx, fd, "</a|"));
    CHECK(fixture_has(&fx, "Connection: keep-alive\r\n"));
    close(fd);
    fixture_done(&fx);
}

TEST(expect_continue_is_answered_and_other_expectations_are_not)
{
    begin();
    int fd = fixture_connect(&fx);
    fixture_say(fd, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
    CHECK(fixture_wait(&fx, fd, "HTTP/1.1 100 Continue\r\n\r\n"));
    fixture_say(fd, "ok");
    CHECK(fixture_wait(&fx, fd, "\r\n\r\nok"));
    close(fd);
    CHECK(fixture_exchange(&fx, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: magic\r\n\r\n"));
    CHECK(fixture_has(&fx, "HTTP/1.1 417 "));
    fixture_done(&fx);
}

TEST(an_answer_at_the_head_skips_a_small_body_and_closes_behind_a_large_one)
{
    begin();
    int fd = fixture_connect(&fx);
    fixture_say(fd, "POST /early HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nskip" GET("/next"));
    CHECK(fixture_wait(&fx, fd, "</next|"));
    CHECK(fixture_has(&fx, "401 Unauthorized"));
    close(fd);
    fd = fixture_connect(&fx);
    fixture_say(fd, "POST /early HTTP/1.1\r\nHost: x\r\nContent-Length: 900000\r\n\r\nstart");
    CHECK(fixture_wait(&fx, fd, NULL));
    CHECK(fixture_has(&fx, "401 Unauthorized"));
    close(fd);
    fd = fixture_connect(&fx); /* not told to continue: what follows cannot be told apart from a body */
    fixture_say(fd,
                "POST /early HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n" GET("/next"));
    CHECK(fixture_wait(&fx, fd, NULL));
    CHECK(!fixture_has(&fx, "100 Continue") && !fixture_has(&fx, "</next|"));
    close(fd);
    fixture_done(&fx);
}

TEST(taking_the_connection_gives_the_descriptor_and_the_rest)
{
    begin();
    int fd = fixture_connect(&fx);
    fixture_say(fd, "GET /wait HTTP/1.1\r\nHost: x\r\nConnection: keep-alive, Upgrade\r\nUpgrade: tcp\r\n\r\nrest");
    LOOPTURN_UNTIL(fx.loop, pending_count);
    CHECK_INT(pending_count, 1);
    CHECK(http_req_wants_upgrade(pending[0], "tcp"));
    CHECK(!http_req_wants_upgrade(pending[0], "websocket"));
    int taken = -1, on = 0;
    struct buf rest;
    socklen_t len = sizeof on;
    CHECK_INT(http_req_take(pending[0], &taken, &rest), 0);
    CHECK_STR(buf_text(&rest), "rest");
    CHECK_INT(getsockopt(taken, IPPROTO_TCP, TCP_NODELAY, &on, &len), 0);
    CHECK_INT(on, 1);
    CHECK_INT(http_server_connections(fx.server), 0);
    fixture_say(taken, "raw bytes");
    CHECK(fixture_wait(&fx, fd, "raw bytes"));
    (void)http_req_unref(pending[0]);
    buf_done(&rest);
    close(taken);
    close(fd);
    fixture_done(&fx);
}

TEST(an_upgrade_nobody_wants_is_an_ordinary_request)
{
    begin();
    int fd = fixture_connect(&fx);
    fixture_say(fd, "GET /plain HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n" GET("/next"));
    CHECK(fixture_wait(&fx, fd, "</next|"));
    CHECK(fixture_has(&fx, "</plain|"));
    close(fd);
    fixture_done(&fx);
}

TEST(unix_sockets_listen_replace_stale_files_and_go_away)
{
    begin();
    char path[64];
    struct stat st;
    struct err err = ERR_INIT;
    struct sockaddr_un addr = { .sun_family = AF_UNIX };
    snprintf(path, sizeof path, "/tmp/test_http_server.%d", (int)getpid());
    memcpy(addr.sun_path, path, strlen(path) + 1);
    int stale = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK_INT(bind(stale, (struct sockaddr *)&addr, sizeof addr), 0);
    close(stale);
    CHECK_INT(http_server_listen_unix(fx.server, path, &err), 0);
    CHECK(stat(path, &st) == 0 && (st.st_mode & 0777) == 0600);
    CHECK(http_server_listen_unix(fx.server, path, &err) < 0);
    CHECK_INT(err.code, ERR_CONFLICT);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK_INT(connect(fd, (struct sockaddr *)&addr, sizeof addr), 0);
    fixture_say(fd, GET("/u"));
    CHECK(fixture_wait(&fx, fd, "</u||-|unix>"));
    close(fd);
    fixture_done(&fx);
    CHECK(stat(path, &st) < 0 && errno == ENOENT);
}

TEST(listening_refuses_names_long_paths_and_taken_ports)
{
    begin();
    struct err err = ERR_INIT;
    char path[200];
    memset(path, 'a', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    CHECK_INT(http_server_listen_tcp(fx.server, "localhost", 0, NULL, &err), -EINVAL);
    CHECK_INT(http_server_listen_tcp(fx.server, "127.0.0.1", fx.port, NULL, &err), -EADDRINUSE);
    CHECK_INT(http_server_listen_unix(fx.server, path, &err), -EINVAL);
    CHECK_INT(http_server_listen_unix(fx.server, "/tmp", &err), -EEXIST);
    fixture_done(&fx);
}

static void set_flag(void *arg)
{
    *(bool *)arg = true;
}

TEST(draining_finishes_what_runs_and_closes_the_rest)
{
    begin();
    bool is_done = false;
    int busy = fixture_connect(&fx), idle = fixture_connect(&fx);
    fixture_say(busy, GET("/wait"));
    fixture_say(idle, GET("/idle"));
    CHECK(fixture_wait(&fx, idle, "</idle|"));
    LOOPTURN_UNTIL(fx.loop, pending_count);
    http_server_drain(fx.server, 60000, set_flag, &is_done);
    CHECK(fixture_wait(&fx, idle, NULL));
    fixture_turn(&fx, 10);
    CHECK(!is_done);
    buf_clear(&fx.in);
    http_req_reply(pending[0], 200, "text/plain", "late", 4);
    (void)http_req_unref(pending[0]);
    CHECK(fixture_wait(&fx, busy, NULL));
    CHECK(fixture_has(&fx, "late") && fixture_has(&fx, "Connection: close"));
    LOOPTURN_UNTIL(fx.loop, is_done);
    CHECK(is_done);
    close(busy);
    close(idle);
    fixture_done(&fx);
}

TEST(draining_cuts_what_does_not_finish_in_time)
{
    begin();
    bool is_done = false, is_gone = false;
    int fd = fixture_connect(&fx);
    fixture_say(fd, GET("/wait"));
    LOOPTURN_UNTIL(fx.loop, pending_count);
    http_req_on_gone(pending[0], set_flag, &is_gone);
    http_server_drain(fx.server, 50, set_flag, &is_done);
    CHECK(fixture_wait(&fx, fd, NULL));
    LOOPTURN_UNTIL(fx.loop, is_done);
    CHECK(is_done && is_gone && http_req_is_gone(pending[0]));
    http_req_reply(pending[0], 200, "text/plain", "late", 4); /* a no-op */
    (void)http_req_unref(pending[0]);
    close(fd);
    fixture_done(&fx);
}

TEST(freeing_the_server_tells_pending_requests_and_outlives_references)
{
    begin();
    bool is_gone = false;
    int fd = fixture_connect(&fx);
    fixture_say(fd, GET("/wait"));
    LOOPTURN_UNTIL(fx.loop, pending_count);
    http_req_on_gone(pending[0], set_flag, &is_gone);
    fixture_done(&fx);
    CHECK(is_gone);
    CHECK_STR(http_req_path(pending[0]), "/wait");
    (void)http_req_unref(pending[0]);
    close(fd);
}

int main(void)
{
    RUN(a_post_is_echoed_with_date_and_headers);
    RUN(bodies_on_get_and_delete_and_chunks_are_read);
    RUN(path_query_and_headers_come_raw);
    RUN(a_head_split_into_single_bytes_is_the_same);
    RUN(head_and_204_have_no_body);
    RUN(pipelined_requests_are_answered_in_order_without_recursion);
    RUN(the_next_pipelined_request_waits_for_a_deferred_reply);
    RUN(close_and_http_1_0_end_the_connection);
    RUN(expect_continue_is_answered_and_other_expectations_are_not);
    RUN(an_answer_at_the_head_skips_a_small_body_and_closes_behind_a_large_one);
    RUN(taking_the_connection_gives_the_descriptor_and_the_rest);
    RUN(an_upgrade_nobody_wants_is_an_ordinary_request);
    RUN(unix_sockets_listen_replace_stale_files_and_go_away);
    RUN(listening_refuses_names_long_paths_and_taken_ports);
    RUN(draining_finishes_what_runs_and_closes_the_rest);
    RUN(draining_cuts_what_does_not_finish_in_time);
    RUN(freeing_the_server_tells_pending_requests_and_outlives_references);
    return tap_done();
}
