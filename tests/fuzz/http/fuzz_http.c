/* Feeds bytes to the server's parser through one end of a socket pair. The first byte picks how they are cut and what
 * the handlers do; the rest is what a client would send. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "http/http_conn.h"
#include "loopturn.h"

static struct loop *loop;
static struct http_server *server;
static unsigned mode;

static struct http_body_rule on_head(void *arg, struct http_req *r)
{
    (void)arg;
    if (mode & 1 && http_req_header(r, "x-early"))
        http_req_reply(r, 401, "text/plain", "no", 2);
    return (struct http_body_rule){ .max_bytes = 4096, .is_streamed = mode & 2 };
}

static void on_data(void *arg, const char *data, ssize_t len)
{
    struct http_req *r = arg;
    (void)data;
    if (len == 0)
        http_req_reply(r, 200, "text/plain", "", 0);
    else if (len > 0 && mode & 4)
        http_req_hold(r, true);
}

static void on_request(void *arg, struct http_req *r)
{
    (void)arg;
    const char *name, *value;
    size_t len, sum = strlen(http_req_path(r)) + strlen(http_req_query(r));
    for (size_t i = 0; http_req_header_at(r, i, &name, &value); i++)
        sum += strlen(name) + strlen(value);
    if (sum > 16384)
        abort(); /* past the limit for heads */
    if (mode & 2) {
        http_req_read(r, on_data, r);
    } else {
        const char *body = http_req_body(r, &len);
        http_req_reply(r, 200, "text/plain", body, len);
    }
}

static void start(void)
{
    static const struct http_app app = { .on_head = on_head, .on_request = on_request };
    static const struct http_limits limits = { .head_bytes = 16384,
                                               .header_count = 20,
                                               .url_bytes = 4096,
                                               .head_ms = 10000,
                                               .idle_ms = 10000,
                                               .body_min_bytes_s = 1,
                                               .connections = 4,
                                               .queued_bytes = 65536 };
    if (loop_new(&loop, NULL) < 0 || http_server_new(loop, &app, &limits, &server, NULL) < 0)
        abort();
}

static void drop_output(int fd)
{
    char out[65536];
    while (recv(fd, out, sizeof out, MSG_DONTWAIT) > 0)
        continue;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int fds[2];
    struct http_conn *c;
    if (!server)
        start();
    if (size < 1 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) < 0)
        return 0;
    mode = data[0];
    size_t step = mode & 8 ? 1 : mode & 16 ? 7 : HTTP_STASH_BYTES / 2;
    if (http_server_adopt(server, fds[0], "unix", &c) < 0)
        abort();
    (void)http_conn_ref(c);
    for (size_t off = 1; off < size && !c->is_closed && c->stash.len < HTTP_STASH_BYTES / 2; off += step) {
        size_t part = size - off < step ? size - off : step;
        if (c->phase != HTTP_PHASE_LINGER)
            http_conn_feed(c, (const char *)data + off, part);
        if (mode & 4 && c->req)
            http_req_hold(c->req, false);
        loopturn_deferred(loop);
        drop_output(fds[1]);
    }
    http_conn_drop(c, true);
    http_conn_unref(c);
    loopturn_deferred(loop);
    close(fds[1]);
    return 0;
}
