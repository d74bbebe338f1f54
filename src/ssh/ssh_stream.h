/* A stream to the server: one HTTP request with an upgrade on a socket pair, whose other end goes to the server over
 * the connection's socket. After the response, a WebSocket (a command) or plain bytes (a tunnel). Nothing blocks but
 * ssh_stream_wait(). Untrusted: nothing; the server is ours, but lengths are checked. May include: base/, os/, http/.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "http/ws_frame.h"

enum { SSH_STREAM_PIECE = 32768, SSH_STREAM_FULL = 131072 };

struct ssh_stream {
    int fd;
    bool is_open;  /* the server has agreed */
    bool is_ended; /* it sends no more, or has refused: see failure */
    bool is_shut, wants_shut;
    struct buf out;                /* not sent yet */
    struct buf in;                 /* read, not used yet */
    char failure[512];             /* why it was refused */
    struct ws_frame_reader reader; /* of a WebSocket */
};

struct ssh_stream_target {
    int control; /* the connection's socket */
    const char *prefix, *sandbox, *credential;
};

/* Sends the request; path: "exec/attach", below the sandbox. 0 or -errno; s is to be closed in both cases. */
int ssh_stream_open(struct ssh_stream *s, const struct ssh_stream_target *to, const char *path, bool is_websocket);
void ssh_stream_close(struct ssh_stream *s);
/* Waits for the answer. Whether it is open. */
bool ssh_stream_wait(struct ssh_stream *s, int timeout_ms);
/* Moves what can be moved now: out to the socket; the socket to in, when in is empty. */
void ssh_stream_move(struct ssh_stream *s);
short ssh_stream_events(const struct ssh_stream *s, bool wants_input); /* for poll */
void ssh_stream_shut(struct ssh_stream *s);                            /* no more output, once what waits is gone */
/* One WebSocket message. */
int ssh_stream_message(struct ssh_stream *s, bool is_text, const char *data, size_t len);
/* The next WebSocket message from in; false: none. */
bool ssh_stream_next(struct ssh_stream *s, struct ws_frame_item *ret);
