/* Internals of the WebSocket code: what ws.c and ws_dial.c share. Users include http/ws.h. May include: base/, loop/,
 * http/.
 *
 * Invariant: user functions are never called from inside a call the user made. */
#pragma once
#include <stdbool.h>

#include "base/share.h"
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
    struct timer *timer; /* limits the closing handshake */
    size_t close_left;   /* bytes queued before the close frame when the timer last ran */
    int close_ticks;
    struct ws_frame_reader reader;
    struct buf stash;        /* read, but held back */
    struct output_queue out; /* counts as blocked until a client's handshake is complete */
    struct ws_handshake *handshake;
    struct share *share; /* of bytes, referenced, or NULL; what is charged to tenant there */
    char tenant[SHARE_TENANT_MAX];
    size_t charged;
    bool is_client, is_open, is_closed, is_held, is_closing, is_over_mark, is_process_due;
};

struct ws *ws_new(struct loop *l, bool is_client, size_t message_max, const struct ws_events *ev, void *arg);
/* The handshake is complete: takes fd and the bytes after it. -errno: nothing was taken. */
int ws_open(struct ws *w, int fd, const struct buf *rest);
void ws_finish(struct ws *w, int code, const char *reason); /* calls on_close, then frees */
void ws_dial_free(struct ws_handshake *h);
