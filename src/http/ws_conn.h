/* Inside of the WebSocket room: what ws.c and ws_dial.c share. Users take http/ws.h. May include: base/, loop/, http/.
 * Invariant: user functions are never called from inside a call the user made. */
#pragma once
#include <stdbool.h>

#include "http/dial.h"
#include "http/output_queue.h"
#include "http/ws.h"
#include "http/ws_frame.h"

struct ws_handshake;

struct ws {
    unsigned magic, refs;
    struct loop *loop;
    struct ws_events events;
    void *arg;
    int fd; /* < 0 until a client is connected */
    struct watch *watch;
    struct timer *timer; /* bounds the closing handshake */
    size_t close_left;   /* bytes behind which the close frame waited when the timer last looked */
    int close_ticks;
    struct ws_frame_reader reader;
    struct buf stash;        /* read, but held back */
    struct output_queue out; /* counts as blocked until a client's handshake is over */
    struct ws_handshake *handshake;
    bool is_client, is_open, is_closed, is_held, is_closing, is_over_mark, is_process_due;
};

struct ws *ws_new(struct loop *l, bool is_client, size_t message_max, const struct ws_events *ev, void *arg);
/* The handshake is over: takes fd and the bytes behind it. -errno: nothing was taken. */
int ws_open(struct ws *w, int fd, const struct buf *rest);
void ws_finish(struct ws *w, int code, const char *reason); /* on_close, then the end */
void ws_dial_free(struct ws_handshake *h);
