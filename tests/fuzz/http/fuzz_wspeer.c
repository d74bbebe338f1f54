/* A whole WebSocket connection, as server or as client (bit 0 of the first byte): what the peer sends after the
 * handshake, in pieces (bits 4 to 7). It must end exactly once, with a code that may be said, and cutting the bytes in
 * another way must give the same messages. */
#include "../feed.h"

#include <sys/socket.h>
#include <unistd.h>

#include "base/utf8.h"
#include "http/ws_conn.h"
#include "loopturn.h"

#define MESSAGE_MAX 4096
#define INPUT_MAX   (32u * 1024)

struct outcome {
    struct loop *loop;
    unsigned messages, closes;
    size_t bytes;
    int code;
    bool does_hold;
};

static void on_message(void *arg, struct ws *w, bool is_text, const char *data, size_t len)
{
    struct outcome *o = arg;
    MUST(!o->closes && len <= MESSAGE_MAX && (!is_text || utf8_is_valid(data, len)));
    o->messages++;
    o->bytes += len;
    (void)ws_send(w, is_text, data, len);
    if (o->does_hold) {
        ws_hold(w, true);
        ws_hold(w, false);
    }
}

static void on_close(void *arg, struct ws *w, int code, const char *reason)
{
    struct outcome *o = arg;
    (void)w;
    MUST(code >= 1000 && code <= 4999 && utf8_is_valid(reason, strlen(reason)));
    o->closes++;
    o->code = code;
    loop_stop(o->loop);
}

static void drop_output(int fd)
{
    char out[8192];
    while (recv(fd, out, sizeof(out), MSG_DONTWAIT) > 0)
        continue;
}

static struct outcome run(const char *data, size_t size, unsigned mode, size_t step)
{
    static const struct ws_events events = { .on_message = on_message, .on_close = on_close };
    struct outcome o = { .does_hold = mode & 2 };
    struct buf none = BUF_INIT(1);
    int fds[2];
    MUST(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) == 0);
    MUST(loop_new(&o.loop, NULL) == 0);
    struct ws *w = ws_new(o.loop, mode & 1, MESSAGE_MAX, &events, &o);
    MUST(ws_open(w, fds[0], &none) == 0);
    for (size_t at = 0; at < size && !o.closes; at += step) {
        size_t part = size - at < step ? size - at : step;
        if (send(fds[1], data + at, part, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
            break;
        loopturn_deferred(o.loop);
        drop_output(fds[1]);
    }
    (void)close(fds[1]); /* no one there any more: the connection must notice */
    if (!o.closes)
        loop_run(o.loop);
    loopturn_deferred(o.loop);
    MUST(o.closes == 1);
    loop_free(o.loop);
    return o;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1 || size > INPUT_MAX)
        return 0;
    const char *bytes = (const char *)data + 1;
    struct outcome whole = run(bytes, size - 1, data[0], size),
                   cut = run(bytes, size - 1, data[0], 1 + (data[0] >> 4) * 9);
    MUST(whole.messages == cut.messages && whole.bytes == cut.bytes);
    return 0;
}
