#include "ws.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base64.h"
#include "table.h"

#define HEAD_MAX     16384
#define FRAME_MAX    ((uint64_t)16 << 20)
#define HANDSHAKE_MS 10000
#define SEND_MS      30000

enum { OP_TEXT = 1, OP_CLOSE = 8, OP_PING = 9, OP_PONG = 10 };

struct ws {
    CURL *curl;
    struct text in; /* bytes that have come; the first `used` of them are done with */
    size_t used;
};

struct frame {
    int op;
    const char *data;
    size_t size, whole; /* payload; with the head */
};

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Until the socket is ready. end_ms < 0: for ever. */
static int wait_for(struct ws *w, short events, int64_t end_ms, struct iii_error *err)
{
    curl_socket_t fd = CURL_SOCKET_BAD;
    if (curl_easy_getinfo(w->curl, CURLINFO_ACTIVESOCKET, &fd) != CURLE_OK || fd == CURL_SOCKET_BAD)
        return iii_fail(err, III_CONNECTION, 0, "the terminal's connection is gone");
    for (;;) {
        struct pollfd p = { fd, events, 0 };
        int64_t left = end_ms < 0 ? -1 : end_ms - now_ms();
        if (end_ms >= 0 && left <= 0)
            return iii_fail(err, III_DEADLINE, 0, "nothing came in time");
        int n = poll(&p, 1, left > 60000 ? 60000 : (int)left);
        if (n > 0)
            return 0;
        if (n < 0 && errno != EINTR)
            return iii_fail(err, III_CONNECTION, 0, "poll: %s", strerror(errno));
    }
}

static int send_all(struct ws *w, const char *data, size_t size, struct iii_error *err)
{
    int64_t end_ms = now_ms() + SEND_MS;
    while (size > 0) {
        size_t sent = 0;
        CURLcode code = curl_easy_send(w->curl, data, size, &sent);
        if (code == CURLE_AGAIN) {
            int e = wait_for(w, POLLOUT, end_ms, err);
            if (e != 0)
                return e;
        } else if (code != CURLE_OK) {
            return iii_fail(err, III_CONNECTION, 0, "%s", curl_easy_strerror(code));
        }
        data += sent;
        size -= sent;
    }
    return 0;
}

/* At least one byte more. */
static int receive(struct ws *w, int64_t end_ms, struct iii_error *err)
{
    char piece[16384];
    for (;;) {
        size_t got = 0;
        CURLcode code = curl_easy_recv(w->curl, piece, sizeof(piece), &got);
        if (code == CURLE_OK && got > 0) {
            iii_text_add(&w->in, piece, got);
            return w->in.failed ? iii_fail(err, III_NO_MEMORY, 0, "out of memory") : 0;
        }
        if (code != CURLE_AGAIN)
            return iii_fail(err, III_CONNECTION, 0, "the connection of the terminal broke off");
        int e = wait_for(w, POLLIN, end_ms, err);
        if (e != 0)
            return e;
    }
}

static void drop_used(struct ws *w)
{
    if (w->used == 0)
        return;
    memmove(w->in.data, w->in.data + w->used, w->in.size - w->used);
    w->in.size -= w->used;
    w->in.data[w->in.size] = '\0';
    w->used = 0;
}

static int send_handshake(struct ws *w, iii_client *client, const char *path, struct iii_error *err)
{
    const char *token = client->token, *host = strstr(client->base_url, "://") + 3;
    size_t host_size = strcspn(host, "/");
    unsigned char random[16];
    char key[BASE64_SIZE(sizeof(random))];
    struct text head = { 0 };

    if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
        return iii_fail(err, III_CONNECTION, 0, "getrandom: %s", strerror(errno));
    iii_base64_encode(random, sizeof(random), key);
    const char *const parts[] = { "GET ",
                                  host + host_size,
                                  path,
                                  " HTTP/1.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n",
                                  "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ",
                                  key,
                                  "\r\n",
                                  *token ? "Authorization: Bearer " : "",
                                  token,
                                  *token ? "\r\n" : "",
                                  "Host: " };
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
        iii_text_add(&head, parts[i], strlen(parts[i]));
    iii_text_add(&head, host, host_size);
    iii_text_add(&head, "\r\n\r\n", 4);
    int e = head.failed ? iii_fail(err, III_NO_MEMORY, 0, "out of memory") : send_all(w, head.data, head.size, err);
    iii_text_done(&head);
    return e;
}

/* The answer is no switch of protocols: an ordinary error, whose body is read as far as it comes. */
static int refused(struct ws *w, int status, size_t head_size, int64_t end_ms, struct iii_error *err)
{
    const char *length = strcasestr(w->in.data, "\r\ncontent-length:");
    size_t size = length ? strtoul(length + strlen("\r\ncontent-length:"), NULL, 10) : 0;
    while (size <= HEAD_MAX && w->in.size < head_size + size && receive(w, end_ms, NULL) == 0)
        continue;
    return iii_http_failure(status, w->in.data + head_size, w->in.size - head_size, err);
}

static int read_handshake(struct ws *w, struct iii_error *err)
{
    int64_t end_ms = now_ms() + HANDSHAKE_MS;
    char *end = NULL;

    while (!end) {
        int e = receive(w, end_ms, err);
        if (e != 0)
            return e;
        end = strstr(w->in.data, "\r\n\r\n");
        if (!end && w->in.size > HEAD_MAX)
            return iii_fail(err, III_PROTOCOL, 0, "the head of the answer is longer than %d bytes", HEAD_MAX);
    }
    size_t head_size = (size_t)(end - w->in.data) + 4;
    int status = strncmp(w->in.data, "HTTP/1.", 7) == 0 ? (int)strtol(w->in.data + 9, NULL, 10) : 0;
    if (status == 0)
        return iii_fail(err, III_PROTOCOL, 0, "the answer is no HTTP");
    if (status != 101)
        return refused(w, status, head_size, end_ms, err);
    w->used = head_size;
    return 0;
}

int iii_ws_open(iii_client *client, const char *path, struct ws **ret, struct iii_error *err)
{
    struct ws *w = calloc(1, sizeof(*w));
    *ret = NULL;
    if (w)
        w->curl = iii_http_socket(client, path);
    if (!w || !w->curl) {
        iii_ws_free(w);
        return iii_fail(err, III_NO_MEMORY, 0, "out of memory");
    }
    curl_easy_setopt(w->curl, CURLOPT_CONNECT_ONLY, 1L);
    CURLcode code = curl_easy_perform(w->curl);
    int e = code == CURLE_OK ? send_handshake(w, client, path, err)
                             : iii_fail(err, III_CONNECTION, 0, "%s", curl_easy_strerror(code));
    if (e == 0)
        e = read_handshake(w, err);
    if (e == 0) {
        *ret = w;
        return 0;
    }
    iii_client_name_address(client, err);
    iii_ws_free(w);
    return e;
}

void iii_ws_free(struct ws *w)
{
    if (!w)
        return;
    curl_easy_cleanup(w->curl);
    iii_text_done(&w->in);
    free(w);
}

static int send_frame(struct ws *w, int op, const void *data, size_t size, struct iii_error *err)
{
    unsigned char mask[4], head[14];
    struct text frame = { 0 };
    size_t n = 2;

    if (getrandom(mask, sizeof(mask), 0) != (ssize_t)sizeof(mask))
        return iii_fail(err, III_CONNECTION, 0, "getrandom: %s", strerror(errno));
    head[0] = (unsigned char)(0x80 | op);
    head[1] = (unsigned char)(0x80 | (size < 126 ? size : size < 65536 ? 126 : 127));
    for (int shift = size < 126 ? -1 : size < 65536 ? 8 : 56; shift >= 0; shift -= 8)
        head[n++] = (unsigned char)((uint64_t)size >> shift);
    memcpy(head + n, mask, sizeof(mask));
    iii_text_add(&frame, (const char *)head, n + sizeof(mask));
    iii_text_add(&frame, data, size);
    for (size_t i = 0; i < size && !frame.failed; i++)
        frame.data[n + sizeof(mask) + i] ^= (char)mask[i % 4];
    int e = frame.failed ? iii_fail(err, III_NO_MEMORY, 0, "out of memory") : send_all(w, frame.data, frame.size, err);
    iii_text_done(&frame);
    return e;
}

int iii_ws_send(struct ws *w, bool is_text, const void *data, size_t size, struct iii_error *err)
{
    return send_frame(w, is_text ? OP_TEXT : OP_TEXT + 1, data, size, err);
}

/* 1: a frame is complete. 0: more bytes are needed. Negative: it breaks the rules. */
static int parse(const struct ws *w, struct frame *f)
{
    const unsigned char *at = (const unsigned char *)w->in.data + w->used;
    size_t have = w->in.size - w->used, head = 2;

    if (have < 2)
        return 0;
    uint64_t size = at[1] & 127;
    if (at[1] & 128)
        return -1; /* a server does not mask */
    if (size >= 126) {
        size_t bytes = size == 126 ? 2 : 8;
        if (have < head + bytes)
            return 0;
        size = 0;
        for (size_t i = 0; i < bytes; i++)
            size = size << 8 | at[head + i];
        head += bytes;
    }
    if (size > FRAME_MAX)
        return -1;
    if (have < head + size)
        return 0;
    *f = (struct frame){ at[0] & 15, (const char *)at + head, (size_t)size, head + (size_t)size };
    return 1;
}

int iii_ws_next(struct ws *w, int timeout_ms, enum ws_kind *kind, struct text *ret, struct iii_error *err)
{
    int64_t end_ms = timeout_ms < 0 ? -1 : now_ms() + timeout_ms;
    struct frame f;

    drop_used(w);
    for (;;) {
        int found = w->in.data ? parse(w, &f) : 0;
        if (found < 0)
            return iii_fail(err, III_PROTOCOL, 0, "the server sent a frame that is against the rules");
        if (found == 0) {
            int e = receive(w, end_ms, err);
            if (e != 0)
                return e;
            continue;
        }
        w->used += f.whole;
        if (f.op == OP_PING || f.op == OP_PONG) {
            int e = f.op == OP_PING ? send_frame(w, OP_PONG, f.data, f.size, err) : 0;
            if (e != 0)
                return e;
            continue;
        }
        *kind = f.op == OP_CLOSE ? WS_CLOSE : WS_DATA;
        if (f.op == OP_CLOSE)
            send_frame(w, OP_CLOSE, f.data, f.size < 2 ? 0 : 2, NULL); /* the answer to it; it may be gone already */
        size_t skip = f.op == OP_CLOSE ? (f.size < 2 ? f.size : 2) : 0;
        *ret = (struct text){ .data = (char *)(uintptr_t)f.data + skip, .size = f.size - skip };
        return 0;
    }
}
