/* The client against the real server, and against sockets that misbehave. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "http/client.h"
#include "http/server_fixture.h"

static struct fixture fx;
static struct buf got;
static unsigned done_count;
static int status_seen;
static struct err last_err;
static bool frees_in_data;

static struct http_body_rule on_head(void *arg, struct http_req *r)
{
    (void)arg;
    (void)r;
    return (struct http_body_rule){ .max_bytes = 1 << 20 };
}

static void on_request(void *arg, struct http_req *r)
{
    (void)arg;
    size_t len;
    const char *body = http_req_body(r, &len);
    if (strcmp(http_req_path(r), "/hang") == 0)
        return;
    if (strcmp(http_req_path(r), "/chunks") == 0) {
        http_req_begin(r, 206, "text/plain", -1);
        (void)http_req_send(r, "one ", 4);
        (void)http_req_send(r, "two", 3);
        http_req_end(r);
        return;
    }
    const char *x = http_req_header(r, "x-ask");
    http_req_add_header(r, "X-Answer", x ? x : "none");
    http_req_reply(r, 201, "text/plain", body, len);
}

static const struct http_app app = { .on_head = on_head, .on_request = on_request };

static void seen_head(void *arg, struct http_client *c, int status)
{
    (void)arg;
    status_seen = status;
    CHECK_INT(http_client_status(c), status);
    const char *answer = http_client_header(c, "x-answer");
    if (answer)
        (void)buf_addf(&got, "[%s]", answer);
}

static void seen_data(void *arg, struct http_client *c, const char *data, size_t len)
{
    (void)arg;
    (void)buf_add(&got, data, len);
    if (frees_in_data)
        (void)http_client_free(c);
}

static void seen_done(void *arg, struct http_client *c, const struct err *err)
{
    (void)arg;
    (void)c;
    done_count++;
    last_err = err ? *err : (struct err)ERR_INIT;
}

static const struct http_client_events events = { seen_head, seen_data, seen_done };

static void begin(void)
{
    fixture_init(&fx, &app, NULL);
    got = (struct buf)BUF_INIT(1 << 20);
    done_count = 0;
    status_seen = 0;
    frees_in_data = false;
}

static void end(void)
{
    buf_done(&got);
    fixture_done(&fx);
}

static const char *url(const char *path)
{
    static char text[100];
    snprintf(text, sizeof text, "http://127.0.0.1:%u%s", fx.port, path);
    return text;
}

/* Starts the call and turns the loop until it is done. */
static void call(const struct http_client_request *req)
{
    struct http_client *c = NULL;
    struct err err = ERR_INIT;
    unsigned before = done_count;
    struct http_client_request ruled = *req;
    if (!ruled.rule.trust && !ruled.rule.private_hosts)
        ruled.rule = outgoing_any;
    buf_clear(&got);
    CHECK_INT(http_client_start(fx.loop, &ruled, &events, NULL, &c, &err), 0);
    CHECK_INT(done_count, before);
    LOOPTURN_UNTIL(fx.loop, done_count != before);
    CHECK_INT(done_count, before + 1);
}

/* --- a body from a pipe --- */

enum { PIPED_BYTES = 700000 };
static int piped_fd, piped_errno;

static void *write_pipe(void *arg)
{
    (void)arg;
    for (unsigned at = 0; at < PIPED_BYTES && !piped_errno;) {
        char piece[1000];
        for (size_t i = 0; i < sizeof piece; i++)
            piece[i] = (char)('a' + (at + i) % 23);
        ssize_t n = write(piped_fd, piece, sizeof piece);
        if (n < 0)
            piped_errno = errno;
        else
            at += (unsigned)n;
    }
    (void)close(piped_fd);
    return NULL;
}

static void call_piped(const char *path)
{
    int ends[2];
    pthread_t writer;
    CHECK_INT(pipe2(ends, O_CLOEXEC), 0);
    piped_fd = ends[1];
    piped_errno = 0;
    CHECK_INT(pthread_create(&writer, NULL, write_pipe, NULL), 0);
    call(&(struct http_client_request){ .method = "POST", .url = url(path), .body_fd = &ends[0] });
    CHECK_INT(pthread_join(writer, NULL), 0);
    CHECK(fcntl(ends[0], F_GETFD) < 0); /* the call has closed it */
}

TEST(a_body_comes_from_a_pipe)
{
    begin();
    call_piped("/p");
    CHECK_INT(last_err.code, ERR_NONE);
    CHECK_INT(status_seen, 201);
    CHECK_INT(piped_errno, 0);
    CHECK_INT(got.len, strlen("[none]") + PIPED_BYTES);
    bool is_same = true;
    for (size_t i = 0; i < PIPED_BYTES && is_same; i++)
        is_same = buf_text(&got)[strlen("[none]") + i] == (char)('a' + i % 23);
    CHECK(is_same);
    fixture_done(&fx); /* nobody answers: the writer learns that nobody reads */
    fixture_init(&fx, &app, NULL);
    static const char dead[] = "http://127.0.0.1:1/p"; /* nobody listens there */
    int ends[2];
    pthread_t writer;
    struct http_client *c = NULL;
    CHECK_INT(pipe2(ends, O_CLOEXEC), 0);
    piped_fd = ends[1];
    piped_errno = 0;
    CHECK_INT(pthread_create(&writer, NULL, write_pipe, NULL), 0);
    CHECK_INT(http_client_start(fx.loop,
                                &(struct http_client_request){
                                    .method = "POST", .url = dead, .body_fd = &ends[0], .rule = outgoing_any },
                                &events, NULL, &c, NULL),
              0);
    unsigned before = done_count;
    LOOPTURN_UNTIL(fx.loop, done_count != before);
    CHECK(last_err.code != ERR_NONE);
    CHECK_INT(pthread_join(writer, NULL), 0);
    CHECK_INT(piped_errno, EPIPE);
    end();
}

TEST(a_post_is_answered)
{
    begin();
    const char *const headers[] = { "X-Ask: why", NULL };
    call(&(struct http_client_request){
        .method = "POST", .url = url("/p"), .headers = headers, .body = "body", .body_len = 4 });
    CHECK_INT(last_err.code, ERR_NONE);
    CHECK_INT(status_seen, 201);
    CHECK_STR(buf_text(&got), "[why]body");
    call(&(struct http_client_request){ .method = "GET", .url = url("/chunks") });
    CHECK_INT(status_seen, 206);
    CHECK_STR(buf_text(&got), "one two");
    call(&(struct http_client_request){ .method = "HEAD", .url = url("/p") });
    CHECK_INT(last_err.code, ERR_NONE);
    CHECK_STR(buf_text(&got), "[none]");
    end();
}

TEST(names_and_unix_sockets_are_reached)
{
    begin();
    char path[64], text[64];
    struct err err = ERR_INIT;
    snprintf(path, sizeof path, "/tmp/test_http_client.%d", (int)getpid());
    CHECK_INT(http_server_listen_unix(fx.server, path, &err), 0);
    call(&(struct http_client_request){ .method = "PUT", .url = "/v1", .unix_path = path, .body = "u", .body_len = 1 });
    CHECK_STR(buf_text(&got), "[none]u");
    snprintf(text, sizeof text, "http://localhost:%u/", fx.port);
    call(&(struct http_client_request){ .method = "PUT", .url = text, .body = "n", .body_len = 1 });
    CHECK_STR(buf_text(&got), "[none]n");
    call(&(struct http_client_request){ .method = "GET", .url = "/", .unix_path = "/nonexistent/socket" });
    CHECK_INT(last_err.code, ERR_UPSTREAM);
    CHECK_INT(last_err.sys, ENOENT);
    end();
}

TEST(failures_say_what_happened)
{
    begin();
    call(&(struct http_client_request){ .method = "GET", .url = url("/hang"), .timeout_ms = 100 });
    CHECK_INT(last_err.code, ERR_TIMEOUT);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t len = sizeof in;
    char text[64];
    CHECK(bind(fd, (struct sockaddr *)&in, len) == 0 && getsockname(fd, (struct sockaddr *)&in, &len) == 0);
    snprintf(text, sizeof text, "http://127.0.0.1:%u/", ntohs(in.sin_port)); /* bound, nobody listens */
    call(&(struct http_client_request){ .method = "GET", .url = text });
    CHECK_INT(last_err.code, ERR_UPSTREAM);
    CHECK_INT(last_err.sys, ECONNREFUSED);
    CHECK(strstr(last_err.msg, "GET http://127.0.0.1:"));
    close(fd);
    call(&(struct http_client_request){
        .method = "POST", .url = url("/p"), .body = "12345", .body_len = 5, .body_max = 4 });
    CHECK_INT(last_err.code, ERR_UPSTREAM);
    CHECK(strstr(last_err.msg, "larger than the limit"));
    end();
}

TEST(bad_requests_do_not_start)
{
    begin();
    struct http_client *c = NULL;
    struct err err = ERR_INIT;
    const char *const headers[] = { "X: a\r\nY: b", NULL };
    static const char *const targets[] = { "wss://a/", "ftp://a/", "/path" };
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        struct http_client_request req = { .method = "GET", .url = targets[i] };
        CHECK_INT(http_client_start(fx.loop, &req, &events, NULL, &c, &err), -EINVAL);
    }
    struct http_client_request bad_method = { .method = "G T", .url = "http://a/" };
    CHECK_INT(http_client_start(fx.loop, &bad_method, &events, NULL, &c, &err), -EINVAL);
    struct http_client_request bad_path = { .method = "GET", .url = "/a b", .unix_path = "/x" };
    CHECK_INT(http_client_start(fx.loop, &bad_path, &events, NULL, &c, &err), -EINVAL);
    struct http_client_request bad_header = { .method = "GET", .url = "http://a/", .headers = headers };
    CHECK_INT(http_client_start(fx.loop, &bad_header, &events, NULL, &c, &err), -EINVAL);
    CHECK_INT(done_count, 0);
    end();
}

TEST(an_address_that_the_rule_denies_is_not_connected_to)
{
    begin();
    char host[32], by_name[64];
    snprintf(host, sizeof host, "127.0.0.1:%u", fx.port);
    snprintf(by_name, sizeof by_name, "http://localhost:%u/p", fx.port);
    const struct outgoing forbidden[] = {
        { .private_hosts = host }, /* no trust at all */
        { .trust = OUTGOING_PUBLIC },
        { .trust = OUTGOING_PUBLIC, .private_hosts = host, .closed_ports = "1-65535" },
        { .trust = OUTGOING_OPERATOR, .closed_ports = "*" },
    };
    for (size_t i = 0; i < sizeof forbidden / sizeof *forbidden; i++) {
        call(&(struct http_client_request){ .method = "GET", .url = url("/p"), .rule = forbidden[i] });
        CHECK_INT(last_err.code, ERR_FORBIDDEN);
        CHECK(strstr(last_err.msg, "not allowed"));
    }
    call(&(struct http_client_request){
        .method = "POST", .url = url("/p"), .rule = { .trust = OUTGOING_PUBLIC, .private_hosts = host } });
    CHECK_INT(last_err.code, ERR_NONE);
    /* The list is about the name that was asked for, not about the address behind it. */
    call(&(struct http_client_request){
        .method = "POST", .url = by_name, .rule = { .trust = OUTGOING_PUBLIC, .private_hosts = host } });
    CHECK_INT(last_err.code, ERR_FORBIDDEN);
    call(&(struct http_client_request){ .method = "POST", .url = by_name, .rule = outgoing_operator });
    CHECK_INT(last_err.code, ERR_NONE);
    end();
}

TEST(freeing_a_call_at_any_time_is_silent)
{
    begin();
    struct err err = ERR_INIT;
    for (int turns = 0; turns < 4; turns++) {
        struct http_client *c = NULL;
        struct http_client_request req = { .method = "GET", .url = url("/hang"), .rule = outgoing_any };
        CHECK_INT(http_client_start(fx.loop, &req, &events, NULL, &c, &err), 0);
        for (int i = 0; i < turns; i++)
            loopturn_ms(fx.loop, 2);
        (void)http_client_free(c);
    }
    struct http_client *named = NULL;
    struct http_client_request by_name = { .method = "GET", .url = "http://localhost:1/", .rule = outgoing_any };
    CHECK_INT(http_client_start(fx.loop, &by_name, &events, NULL, &named, &err), 0);
    (void)http_client_free(named); /* the lookup runs on its thread, and may be done before a turn has ended */
    frees_in_data = true;
    struct http_client *c = NULL;
    struct http_client_request req = {
        .method = "POST", .url = url("/p"), .body = "b", .body_len = 1, .rule = outgoing_any
    };
    CHECK_INT(http_client_start(fx.loop, &req, &events, NULL, &c, &err), 0);
    LOOPTURN_UNTIL(fx.loop, got.len);
    CHECK(got.len);
    fixture_turn(&fx, 5);
    CHECK_INT(done_count, 0);
    end();
}

/* A server that sends text and closes. */
static void check_answer(const char *text, enum err_code code, const char *want)
{
    struct fixture raw = { 0 };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), peer = -1;
    struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t len = sizeof in;
    CHECK(bind(fd, (struct sockaddr *)&in, len) == 0 && listen(fd, 1) == 0 &&
          getsockname(fd, (struct sockaddr *)&in, &len) == 0);
    raw.port = ntohs(in.sin_port);
    char address[64];
    snprintf(address, sizeof address, "http://127.0.0.1:%u/", raw.port);
    struct http_client *c = NULL;
    struct http_client_request req = { .method = "GET", .url = address, .rule = outgoing_any };
    struct err err = ERR_INIT;
    unsigned before = done_count;
    buf_clear(&got);
    CHECK_INT(http_client_start(fx.loop, &req, &events, NULL, &c, &err), 0);
    LOOPTURN_UNTIL(fx.loop, (peer = accept4(fd, NULL, NULL, SOCK_CLOEXEC)) >= 0);
    char request[1024];
    ssize_t n = -1;
    LOOPTURN_UNTIL(fx.loop, (n = recv(peer, request, sizeof request, MSG_DONTWAIT)) > 0);
    CHECK(n > 0);
    fixture_say(peer, text);
    close(peer);
    close(fd);
    LOOPTURN_UNTIL(fx.loop, done_count != before);
    CHECK_INT(done_count, before + 1);
    if (last_err.code != code)
        printf("# %s\n# %s\n", text, last_err.msg);
    CHECK_INT(last_err.code, code);
    CHECK_STR(buf_text(&got), want);
}

TEST(answers_of_other_servers_are_understood_or_refused)
{
    begin();
    check_answer("HTTP/1.1 200 OK\r\n\r\nuntil the end", ERR_NONE, "until the end");
    check_answer("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nX-Answer: b\r\nContent-Length: 2\r\n\r\nok", ERR_NONE,
                 "[b]ok");
    check_answer("HTTP/1.1 204 No Content\r\n\r\n", ERR_NONE, "");
    check_answer("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort", ERR_UPSTREAM, "short");
    check_answer("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", ERR_UPSTREAM, "abc");
    check_answer("SSH-2.0-thing\r\n", ERR_UPSTREAM, "");
    check_answer("", ERR_UPSTREAM, "");
    end();
}

int main(void)
{
    (void)signal(SIGPIPE, SIG_IGN);
    RUN(a_post_is_answered);
    RUN(a_body_comes_from_a_pipe);
    RUN(names_and_unix_sockets_are_reached);
    RUN(failures_say_what_happened);
    RUN(bad_requests_do_not_start);
    RUN(an_address_that_the_rule_denies_is_not_connected_to);
    RUN(freeing_a_call_at_any_time_is_silent);
    RUN(answers_of_other_servers_are_understood_or_refused);
    return tap_done();
}
