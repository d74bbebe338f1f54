#include "client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

int64_t client_now_us(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

int client_open(struct client *c, uint16_t port)
{
    struct sockaddr_in to = { .sin_family = AF_INET,
                              .sin_port = htons(port),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int one = 1;
    memset(c, 0, sizeof(*c));
    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&to, sizeof(to)) < 0)
        return -errno;
    (void)setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    c->cap = 1 << 16;
    c->buf = malloc(c->cap);
    return c->buf ? 0 : -ENOMEM;
}

void client_close(struct client *c)
{
    (void)close(c->fd);
    free(c->buf);
}

static int send_all(int fd, const char *data, size_t len)
{
    while (len) {
        ssize_t n = send(fd, data, len, MSG_NOSIGNAL);
        if (n <= 0)
            return -1;
        data += n;
        len -= (size_t)n;
    }
    return 0;
}

int client_send(struct client *c, const char *method, const char *path, const char *body)
{
    size_t body_len = body ? strlen(body) : 0;
    char *req = NULL;
    int n = asprintf(
        &req,
        "%s /sandbox%s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
        method, path, body_len, body ? body : "");
    int r = n < 0 ? -1 : send_all(c->fd, req, (size_t)n);
    free(req);
    return r;
}

static ssize_t more(struct client *c)
{
    if (c->cap - c->len < 65536) {
        char *grown = realloc(c->buf, c->cap * 2);
        if (!grown)
            return -1;
        c->buf = grown;
        c->cap *= 2;
    }
    ssize_t n = recv(c->fd, c->buf + c->len, c->cap - c->len - 1, 0);
    if (n > 0) {
        c->len += (size_t)n;
        c->buf[c->len] = '\0';
    }
    return n;
}

/* Reads up to the end of the head; returns its length, or -1. */
static long read_head(struct client *c)
{
    char *end;
    c->len = 0;
    c->buf[0] = '\0';
    while (!(end = strstr(c->buf, "\r\n\r\n")))
        if (more(c) <= 0)
            return -1;
    c->status = (int)strtol(c->buf + 9, NULL, 10);
    return end + 4 - c->buf;
}

int client_call(struct client *c, const char *method, const char *path, const char *body)
{
    if (client_send(c, method, path, body) < 0)
        return -1;
    long head = read_head(c);
    if (head < 0)
        return -1;
    const char *cl = strcasestr(c->buf, "content-length:");
    size_t want = (size_t)head + (cl && cl < c->buf + head ? (size_t)strtoull(cl + 15, NULL, 10) : 0);
    while (c->len < want)
        if (more(c) <= 0)
            return -1;
    memmove(c->buf, c->buf + head, c->len - (size_t)head + 1);
    c->len -= (size_t)head;
    return c->status;
}

int client_stream(struct client *c, const char *path, const char *body, int64_t *first_us)
{
    if (client_send(c, "POST", path, body) < 0 || read_head(c) < 0)
        return -1;
    while (!strstr(c->buf, "data: "))
        if (more(c) <= 0)
            return -1;
    *first_us = client_now_us();
    while (!strstr(c->buf, "\r\n0\r\n\r\n"))
        if (more(c) <= 0)
            return -1;
    return c->status;
}

int client_member(const struct client *c, const char *key, char *out, size_t size)
{
    char needle[64];
    (void)snprintf(needle, sizeof(needle), "\"%s\":\"", key);
    const char *p = strstr(c->buf, needle);
    if (!p)
        return -1;
    p += strlen(needle);
    size_t n = strcspn(p, "\"");
    if (n >= size)
        return -1;
    memcpy(out, p, n);
    out[n] = '\0';
    return 0;
}
