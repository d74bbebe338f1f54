/* Bodies that stream in, replies that stream out, and clients that leave in between. */
#include "base/alloc.h"
#include "http/server_fixture.h"

#define GET(path) "GET " path " HTTP/1.1\r\nHost: x\r\n\r\n"

static struct fixture fx;
static struct http_req *kept;
static struct buf got;
static unsigned gone_count, drain_count, request_count;
static int end_seen;
static bool holds_each;
static struct http_req *upload;

static struct http_body_rule on_head(void *arg, struct http_req *r)
{
    (void)arg;
    return (struct http_body_rule){ .max_bytes = 64 << 20, .is_streamed = strncmp(http_req_path(r), "/up", 3) == 0 };
}

static void on_gone(void *arg)
{
    (void)arg;
    gone_count++;
}

static void on_drain(void *arg)
{
    (void)arg;
    drain_count++;
}

static void on_data(void *arg, const char *data, ssize_t len)
{
    struct http_req *r = arg;
    if (len > 0)
        (void)buf_add(&got, data, (size_t)len);
    else
        end_seen = len == 0 ? 1 : -1;
    upload = r;
    if (len > 0 && holds_each)
        http_req_hold(r, true);
    if (len == 0)
        http_req_reply(r, 200, "text/plain", "got it", 6);
}

static void on_reject_data(void *arg, const char *data, ssize_t len)
{
    (void)data;
    if (len > 0)
        http_req_reply(arg, 422, "text/plain", "no more", 7);
}

static void on_abort_data(void *arg, const char *data, ssize_t len)
{
    (void)data;
    if (len > 0)
        http_req_abort(arg);
}

static void on_request(void *arg, struct http_req *r)
{
    (void)arg;
    const char *path = http_req_path(r);
    request_count++;
    http_req_on_gone(r, on_gone, NULL);
    http_req_on_drain(r, on_drain, NULL);
    if (strcmp(path, "/up") == 0) {
        http_req_read(r, on_data, r);
    } else if (strcmp(path, "/up-reject") == 0) {
        http_req_read(r, on_reject_data, r);
    } else if (strcmp(path, "/up-abort") == 0) {
        http_req_read(r, on_abort_data, r);
    } else if (strcmp(path, "/small") == 0) {
        http_req_begin(r, 200, "text/event-stream", -1);
        (void)http_req_send(r, "one", 3);
        (void)http_req_send(r, "two", 3);
        http_req_end(r);
    } else if (strcmp(path, "/sized") == 0) {
        http_req_begin(r, 200, "text/plain", 6);
        (void)http_req_send(r, "sixsix and more", 15);
        http_req_end(r);
    } else if (strcmp(path, "/short") == 0) {
        http_req_begin(r, 200, "text/plain", 6);
        (void)http_req_send(r, "six", 3);
        http_req_end(r);
    } else {
        kept = http_req_ref(r);
    }
}

static const struct http_app app = { .on_head = on_head, .on_request = on_request };

static void begin(void)
{
    fixture_init(&fx, &app, NULL);
    kept = NULL;
    got = (struct buf)BUF_INIT(64 << 20);
    gone_count = drain_count = request_count = 0;
    end_seen = 0;
    holds_each = false;
}

static void end(void)
{
    (void)http_req_unref(kept);
    buf_done(&got);
    fixture_done(&fx);
}

TEST(a_streamed_body_arrives_whole_and_in_order)
{
    begin();
    int fd = fixture_connect(&fx);
    fixture_say(fd, "PUT /up HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\nExpect: 100-continue\r\n\r\n");
    CHECK(fixture_wait(&fx, fd, "100 Continue"));
    fixture_say(fd, "hello");
    LOOPTURN_UNTIL(fx.loop, got.len == 5);
    CHECK_STR(buf_text(&got), "hello");
    fixture_say(fd, "world");
    CHECK(fixture_wait(&fx, fd, "got it"));
    CHECK_STR(buf_text(&got), "helloworld");
    CHECK_INT(end_seen, 1);
    close(fd);
    end();
}

TEST(a_held_body_stops_within_a_piece_and_goes_on)
{
    begin();
    holds_each = true;
    int fd = fixture_connect(&fx);
    fixture_say(
        fd, "PUT /up HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n3\r\ndef\r\n0\r\n\r\n" GET(
                "/keep"));
    LOOPTURN_UNTIL(fx.loop, got.len);
    fixture_turn(&fx, 10);
    CHECK_STR(buf_text(&got), "abc");
    CHECK_INT(end_seen, 0);
    http_req_hold(upload, false);
    LOOPTURN_UNTIL(fx.loop, got.len > 3);
    fixture_turn(&fx, 5);
    CHECK_STR(buf_text(&got), "abcdef");
    CHECK_INT(end_seen, 0);
    http_req_hold(upload, false);
    CHECK(fixture_wait(&fx, fd, "got it"));
    LOOPTURN_UNTIL(fx.loop, kept);
    CHECK(kept); /* the request behind it was not lost */
    close(fd);
    end();
}

/* A hold inside a piece that has not come whole: resuming finds nothing to read, which is not the end of the body. */
TEST(resuming_a_held_body_without_new_bytes_is_not_its_end)
{
    static const struct {
        const char *first, *second;
    } bodies[] = {
        { "Transfer-Encoding: chunked\r\n\r\n6\r\nabc", "def\r\n0\r\n\r\n" },
        { "Content-Length: 6\r\n\r\nabc", "def" },
    };
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        begin();
        holds_each = true;
        int fd = fixture_connect(&fx);
        fixture_say(fd, "PUT /up HTTP/1.1\r\nHost: x\r\n");
        fixture_say(fd, bodies[i].first);
        LOOPTURN_UNTIL(fx.loop, got.len);
        CHECK_STR(buf_text(&got), "abc");
        http_req_hold(upload, false);
        fixture_turn(&fx, 10);
        CHECK_INT(end_seen, 0);
        fixture_say(fd, bodies[i].second);
        LOOPTURN_UNTIL(fx.loop, got.len > 3);
        CHECK_STR(buf_text(&got), "abcdef");
        if (!end_seen)
            http_req_hold(upload, false);
        CHECK(fixture_wait(&fx, fd, "got it"));
        close(fd);
        end();
    }
}

static void on_slow_data(void *arg, const char *data, ssize_t len)
{
    (void)arg;
    if (len > 0) {
        (void)buf_add(&got, data, (size_t)len);
        http_req_hold(upload, true);
    } else {
        end_seen = len == 0 ? 1 : -1;
    }
}

TEST(a_late_reader_gets_everything_while_the_sender_is_slowed)
{
    begin();
    int fd = fixture_connect(&fx), size = 3 << 20, sent = 0;
    char *data = xzalloc((size_t)size);
    for (int i = 0; i < size; i++)
        data[i] = (char)('a' + i % 23);
    char head[100];
    snprintf(head, sizeof head, "PUT /upload HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", size);
    fixture_say(fd, head);
    LOOPTURN_UNTIL(fx.loop, kept);
    CHECK(kept);
    for (int idle = 0; idle < 20 && sent < size;) { /* nobody reads: the kernel's buffers fill and that is all */
        ssize_t n = send(fd, data + sent, (size_t)(size - sent), MSG_DONTWAIT | MSG_NOSIGNAL);
        sent += n > 0 ? (int)n : 0;
        idle += n <= 0;
        fixture_turn(&fx, 1);
    }
    upload = kept;
    http_req_read(kept, on_slow_data, NULL);
    for (int64_t end_us = clock_mono_us() + LOOPTURN_WAIT_US; !end_seen && clock_mono_us() < end_us;) {
        if (sent < size) {
            ssize_t n = send(fd, data + sent, (size_t)(size - sent), MSG_DONTWAIT | MSG_NOSIGNAL);
            sent += n > 0 ? (int)n : 0;
        } else if (sent == size) {
            shutdown(fd, SHUT_WR); /* what is on its way still counts */
            sent++;
        }
        http_req_hold(kept, false);
        fixture_turn(&fx, 0);
    }
    CHECK_INT(got.len, size);
    CHECK(memcmp(got.data, data, (size_t)size) == 0);
    CHECK(end_seen != 0);
    free(data);
    close(fd);
    end();
}

TEST(small_streams_are_chunked_and_keep_the_connection)
{
    begin();
    int fd = fixture_connect(&fx);
    fixture_say(fd, GET("/small") GET("/sized") "HEAD /small HTTP/1.1\r\nHost: x\r\n\r\n" GET("/sized"));
    LOOPTURN_UNTIL(fx.loop, fixture_read_some(&fx, fd) && fixture_count(&fx, "sixsix") == 2);
    CHECK_INT(fixture_count(&fx, "3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n"), 1);
    CHECK_INT(fixture_count(&fx, "\r\n\r\nsixsix"), 2);
    CHECK_INT(fixture_count(&fx, "and more"), 0);
    CHECK_INT(fixture_count(&fx, "Transfer-Encoding: chunked"), 2);
    close(fd);
    CHECK(fixture_exchange(&fx, "GET /small HTTP/1.0\r\n\r\n"));
    CHECK(fixture_has(&fx, "\r\n\r\nonetwo") && !fixture_has(&fx, "chunked"));
    CHECK(fixture_exchange(&fx, GET("/short"))); /* less than promised: the cut tells */
    end();
}

TEST(a_client_that_leaves_is_noticed_while_the_reply_is_pending)
{
    begin();
    int fd = fixture_connect(&fx);
    fixture_say(fd, GET("/keep"));
    LOOPTURN_UNTIL(fx.loop, kept);
    CHECK(kept && !http_req_is_gone(kept));
    close(fd);
    LOOPTURN_UNTIL(fx.loop, gone_count); /* no time-out of the server is as short */
    CHECK_INT(gone_count, 1);
    CHECK(http_req_is_gone(kept));
    http_req_reply(kept, 200, NULL, "x", 1);
    http_req_begin(kept, 200, NULL, -1);
    CHECK_INT(http_req_send(kept, "x", 1), 0);
    http_req_end(kept);
    http_req_abort(kept);
    end();
}

TEST(leaving_is_noticed_behind_a_full_stash_too)
{
    begin();
    int fd = fixture_connect(&fx);
    char junk[16384];
    memset(junk, 'j', sizeof junk);
    fixture_say(fd, GET("/keep"));
    for (int i = 0; i < 5; i++) { /* more than the stash, less than stash and kernel: else the end cannot be sent */
        (void)!send(fd, junk, sizeof junk, MSG_DONTWAIT | MSG_NOSIGNAL);
        fixture_turn(&fx, 1);
    }
    LOOPTURN_UNTIL(fx.loop, kept);
    CHECK(kept && !gone_count);
    close(fd);
    LOOPTURN_UNTIL(fx.loop, gone_count);
    CHECK_INT(gone_count, 1);
    CHECK_INT(request_count, 1);
    end();
}

TEST(leaving_in_a_streamed_body_ends_it_with_minus_one)
{
    begin();
    int fd = fixture_connect(&fx);
    fixture_say(fd, "PUT /up HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf");
    LOOPTURN_UNTIL(fx.loop, got.len == 4);
    CHECK_STR(buf_text(&got), "half");
    close(fd);
    LOOPTURN_UNTIL(fx.loop, gone_count);
    CHECK_INT(end_seen, -1);
    CHECK_INT(gone_count, 1);
    end();
}

TEST(a_slow_client_fills_the_queue_and_drains_it)
{
    begin();
    int fd = fixture_connect(&fx);
    static char piece[32768];
    memset(piece, 'p', sizeof piece);
    fixture_say(fd, GET("/keep"));
    LOOPTURN_UNTIL(fx.loop, kept);
    http_req_begin(kept, 200, "application/octet-stream", -1);
    size_t queued = 0, total = 0;
    for (int i = 0; i < 2000 && queued <= 1 << 20; i++) {
        queued = http_req_send(kept, piece, sizeof piece);
        total += sizeof piece;
    }
    CHECK(queued > 1 << 20 && queued < 3 << 20);
    CHECK_INT(drain_count, 0);
    LOOPTURN_UNTIL(fx.loop, fixture_read_some(&fx, fd) && drain_count);
    CHECK_INT(drain_count, 1);
    http_req_end(kept);
    CHECK(fixture_wait(&fx, fd, "\r\n0\r\n\r\n"));
    size_t letters = 0;
    const char *body = strstr(buf_text(&fx.in), "\r\n\r\n");
    for (const char *p = body; p && *p; p++)
        letters += *p == 'p';
    CHECK_INT(letters, total);
    close(fd);
    end();
}

TEST(a_producer_that_never_stops_is_cut)
{
    begin();
    int fd = fixture_connect(&fx);
    static char piece[1 << 20];
    fixture_say(fd, GET("/keep"));
    LOOPTURN_UNTIL(fx.loop, kept);
    http_req_begin(kept, 200, "application/octet-stream", -1);
    for (int i = 0; i < 40; i++)
        (void)http_req_send(kept, piece, sizeof piece);
    CHECK_INT(gone_count, 0); /* never from inside the call */
    LOOPTURN_UNTIL(fx.loop, gone_count);
    CHECK_INT(gone_count, 1);
    close(fd);
    end();
}

TEST(a_large_reply_in_one_piece_arrives_whole)
{
    begin();
    int fd = fixture_connect(&fx);
    size_t len = 8 << 20;
    char *body = xzalloc(len);
    memset(body, 'b', len - 1);
    body[len - 1] = 'Z';
    fixture_say(fd, "GET /keep HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    LOOPTURN_UNTIL(fx.loop, kept);
    http_req_reply(kept, 200, "text/plain", body, len);
    free(body);
    CHECK(fixture_wait(&fx, fd, NULL));
    const char *start = strstr(buf_text(&fx.in), "\r\n\r\n");
    CHECK(start && fx.in.len - (size_t)(start + 4 - fx.in.data) == len);
    CHECK(fx.in.data[fx.in.len - 1] == 'Z');
    close(fd);
    end();
}

TEST(abort_cuts_without_telling_its_own_handler)
{
    begin();
    int fd = fixture_connect(&fx);
    fixture_say(fd, GET("/keep"));
    LOOPTURN_UNTIL(fx.loop, kept);
    http_req_abort(kept);
    CHECK(fixture_wait(&fx, fd, NULL));
    CHECK_INT(gone_count, 0);
    CHECK(http_req_is_gone(kept));
    close(fd);
    end();
}

TEST(answering_or_aborting_in_the_middle_of_a_body_is_safe)
{
    begin();
    CHECK(fixture_exchange(&fx, "PUT /up-reject HTTP/1.1\r\nHost: x\r\nContent-Length: 900000\r\n\r\nfirst"));
    CHECK_INT(fixture_count(&fx, "HTTP/1.1 "), 1);
    CHECK(fixture_has(&fx, "422 ") && fixture_has(&fx, "no more"));
    int fd = fixture_connect(&fx); /* what is left of a small one is skipped */
    fixture_say(
        fd, "PUT /up-reject HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n1\r\nb\r\n0\r\n\r\n" GET(
                "/small"));
    CHECK(fixture_wait(&fx, fd, "two"));
    CHECK_INT(fixture_count(&fx, "422 "), 1);
    close(fd);
    CHECK(fixture_exchange(&fx, "PUT /up-abort HTTP/1.1\r\nHost: x\r\nContent-Length: 90\r\n\r\nfirst"));
    CHECK_INT(fx.in.len, 0);
    CHECK_INT(gone_count, 0);
    end();
}

int main(void)
{
    RUN(a_streamed_body_arrives_whole_and_in_order);
    RUN(a_held_body_stops_within_a_piece_and_goes_on);
    RUN(resuming_a_held_body_without_new_bytes_is_not_its_end);
    RUN(a_late_reader_gets_everything_while_the_sender_is_slowed);
    RUN(small_streams_are_chunked_and_keep_the_connection);
    RUN(a_client_that_leaves_is_noticed_while_the_reply_is_pending);
    RUN(leaving_is_noticed_behind_a_full_stash_too);
    RUN(leaving_in_a_streamed_body_ends_it_with_minus_one);
    RUN(a_slow_client_fills_the_queue_and_drains_it);
    RUN(a_producer_that_never_stops_is_cut);
    RUN(a_large_reply_in_one_piece_arrives_whole);
    RUN(abort_cuts_without_telling_its_own_handler);
    RUN(answering_or_aborting_in_the_middle_of_a_body_is_safe);
    return tap_done();
}
