/* Rows through the engine: a worker's connection, written out as plainly as the HTTP client beside it. */
#include "engine.h"

#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define FRAME_MAX 65536
#define IN_FLIGHT 32
#define CALLS     4000

static struct {
    struct client c; /* only its descriptor is used */
    bool is_open;
    unsigned next_id;
} worker;

static bool read_all(int fd, void *data, size_t len)
{
    char *p = data;
    for (ssize_t n; len; p += n, len -= (size_t)n)
        if ((n = recv(fd, p, len, 0)) <= 0)
            return false;
    return true;
}

static bool send_text(const char *text)
{
    static const unsigned char mask[4] = { 1, 2, 3, 4 }; /* any will do between two of our own programs */
    unsigned char frame[FRAME_MAX + 16];
    size_t len = strlen(text), at = 2;
    if (len > FRAME_MAX)
        return false;
    frame[0] = 0x81;
    if (len < 126) {
        frame[1] = (unsigned char)(0x80 | len);
    } else {
        frame[1] = 0x80 | 126;
        frame[at++] = (unsigned char)(len >> 8);
        frame[at++] = (unsigned char)len;
    }
    memcpy(frame + at, mask, 4);
    at += 4;
    for (size_t i = 0; i < len; i++)
        frame[at + i] = (unsigned char)text[i] ^ mask[i & 3];
    return send(worker.c.fd, frame, at + len, MSG_NOSIGNAL) == (ssize_t)(at + len);
}

/* The next message, NUL-terminated, into buf; false when the connection is gone or a message is larger than FRAME_MAX.
 */
static bool read_text(char *buf)
{
    unsigned char head[2];
    uint16_t len16;
    if (!read_all(worker.c.fd, head, 2))
        return false;
    size_t len = head[1] & 0x7f;
    if (len == 126) {
        if (!read_all(worker.c.fd, &len16, 2))
            return false;
        len = be16toh(len16);
    } else if (len == 127) {
        return false;
    }
    if (!read_all(worker.c.fd, buf, len))
        return false;
    buf[len] = '\0';
    return true;
}

static bool open_worker(const struct bench *b)
{
    static const char handshake[] = "GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                                    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n\r\n";
    char head[4096];
    size_t len = 0;
    if (worker.is_open)
        return true;
    if (client_open(&worker.c, b->engine_port) < 0 ||
        send(worker.c.fd, handshake, sizeof(handshake) - 1, MSG_NOSIGNAL) != sizeof(handshake) - 1)
        return false;
    while (len < 4 || memcmp(head + len - 4, "\r\n\r\n", 4) != 0)
        if (len == sizeof(head) || !read_all(worker.c.fd, head + len++, 1))
            return false;
    worker.is_open = strncmp(head, "HTTP/1.1 101", 12) == 0;
    return worker.is_open;
}

static bool ask(const char *function, const char *data)
{
    char text[2048];
    (void)snprintf(text, sizeof(text),
                   "{\"type\":\"invokefunction\",\"invocation_id\":\"00000000-0000-4000-8000-%012u\",\"function_id\":"
                   "\"%s\",\"data\":%s}",
                   ++worker.next_id, function, data);
    return send_text(text);
}

/* Reads on to the next result; true when it is no error. */
static bool answered(void)
{
    static char text[FRAME_MAX + 1];
    do {
        if (!read_text(text))
            return false;
    } while (!strstr(text, "\"invocationresult\""));
    return !strstr(text, "\"error\":{");
}

static int64_t timed(const struct bench *b, const char *function, const char *data)
{
    if (!open_worker(b))
        return -1;
    int64_t t0 = client_now_us();
    return ask(function, data) && answered() ? client_now_us() - t0 : -1;
}

int64_t engine_sample_call(struct bench *b)
{
    return timed(b, "lifecycle::health", "{}");
}

int64_t engine_sample_run(struct bench *b)
{
    return timed(b, "sandbox::run", "{\"image\":\"python\",\"lang\":\"python\",\"code\":\"print(2+2)\"}");
}

double engine_calls_per_s(const struct bench *b)
{
    int64_t t0 = client_now_us();
    unsigned asked = 0, done = 0;
    if (!open_worker(b))
        return 0;
    while (done < CALLS) {
        while (asked < CALLS && asked - done < IN_FLIGHT)
            asked += ask("lifecycle::health", "{}");
        if (!answered())
            return 0;
        done++;
    }
    return done / ((double)(client_now_us() - t0) / 1e6);
}
