/* A real server on loopback and blocking-style clients in one thread: waiting for a client's bytes turns the loop. */
#pragma once
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "http/server.h"
#include "loopturn.h"
#include "tap.h"

struct fixture {
    struct loop *loop;
    struct http_server *server;
    uint16_t port;
    struct buf in; /* what the client has received */
};

/* Turns the loop for about ms, and a few times more: on a busy machine the time may pass in one turn. */
static inline void fixture_turn(struct fixture *f, int64_t ms)
{
    loopturn_ms(f->loop, ms);
    for (int i = 0; i < 4; i++)
        loopturn_ms(f->loop, 0);
}

static inline void fixture_init(struct fixture *f, const struct http_app *app, const struct http_limits *limits)
{
    struct err err = ERR_INIT;
    *f = (struct fixture){ .in = BUF_INIT(256 << 20) };
    if (loop_new(&f->loop, &err) < 0 || http_server_new(f->loop, app, limits, &f->server, &err) < 0 ||
        http_server_listen_tcp(f->server, "127.0.0.1", 0, &f->port, &err) < 0) {
        printf("Bail out! %s\n", err.msg);
        exit(1);
    }
}

static inline void fixture_done(struct fixture *f)
{
    f->server = http_server_free(f->server);
    f->loop = loop_free(f->loop);
    buf_done(&f->in);
}

static inline int fixture_connect_from(struct fixture *f, const char *address)
{
    struct sockaddr_in from = { .sin_family = AF_INET };
    struct sockaddr_in in = { .sin_family = AF_INET,
                              .sin_port = htons(f->port),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(fd >= 0 && inet_pton(AF_INET, address, &from.sin_addr) == 1 &&
          bind(fd, (struct sockaddr *)&from, sizeof from) == 0 && connect(fd, (struct sockaddr *)&in, sizeof in) == 0);
    int on = 1; /* else small writes wait for the server's delayed acknowledgement */
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    buf_clear(&f->in);
    return fd;
}

static inline int fixture_connect(struct fixture *f)
{
    return fixture_connect_from(f, "127.0.0.1");
}

static inline void fixture_write(int fd, const char *data, size_t len)
{
    CHECK_INT(send(fd, data, len, MSG_NOSIGNAL), len);
}

static inline void fixture_say(int fd, const char *text)
{
    fixture_write(fd, text, strlen(text));
}

/* 1 bytes came, 0 the connection has ended, -EAGAIN nothing yet. */
static inline int fixture_read_some(struct fixture *f, int fd)
{
    char piece[65536];
    ssize_t n = recv(fd, piece, sizeof piece, MSG_DONTWAIT);
    if (n < 0)
        return errno == EAGAIN ? -EAGAIN : 0;
    if (n > 0)
        (void)buf_add(&f->in, piece, (size_t)n);
    return n > 0;
}

/* Waits until what was received holds text (NULL: until the connection ends); false after LOOPTURN_WAIT_US. */
static inline bool fixture_wait(struct fixture *f, int fd, const char *text)
{
    for (int64_t end = clock_mono_us() + LOOPTURN_WAIT_US; clock_mono_us() < end;) {
        int r = fixture_read_some(f, fd);
        if (text && strstr(buf_text(&f->in), text))
            return true;
        if (r == 0)
            return !text;
        if (r < 0)
            fixture_turn(f, 1);
    }
    return false;
}

static inline bool fixture_has(const struct fixture *f, const char *text)
{
    return strstr(buf_text(&f->in), text) != NULL;
}

static inline unsigned fixture_count(const struct fixture *f, const char *text)
{
    unsigned n = 0;
    for (const char *p = buf_text(&f->in); (p = strstr(p, text)); p += strlen(text))
        n++;
    return n;
}

/* Sends text on a fresh connection and reads until the server closes it. */
static inline bool fixture_exchange(struct fixture *f, const char *text)
{
    int fd = fixture_connect(f);
    fixture_say(fd, text);
    bool is_closed = fixture_wait(f, fd, NULL);
    close(fd);
    return is_closed;
}
