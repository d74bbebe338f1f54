/* One end of a channel, held by this process: bytes and text messages in one direction. The channel itself is at our
 * engine, or behind a WebSocket at an outside one. Made by engine_call_open_channel().
 * May include: base/, loop/, http/, engine/. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct channel_handle;

struct channel_handle_events {
    /* Reader only. text: an out-of-band message. */
    void (*on_data)(void *arg, bool is_text, const char *data, size_t len);
    /* Reader: the writer has finished or vanished (channel_handle_end_code() tells). Writer: the reader has left. Once;
     * the end is freed after it. */
    void (*on_end)(void *arg);
    void (*on_drain)(void *arg); /* writer: the queue has emptied after it was over the mark; may be NULL */
};

/* Inside on_end: the WebSocket code the other end left with; 1006 when it vanished without one. */
int channel_handle_end_code(const struct channel_handle *c);

/* Returns bytes that wait; past CHANNEL_HANDLE_MARK stop until on_drain. */
#define CHANNEL_HANDLE_MARK (1024 * 1024)
size_t channel_handle_send(struct channel_handle *c, bool is_text, const char *data, size_t len);
void channel_handle_hold(struct channel_handle *c, bool is_held); /* reader: pause and resume; the writer feels it */
/* Writer: all was sent, end of stream. Reader: no more wanted. No more callbacks; c is gone. NULL is fine. */
struct channel_handle *channel_handle_finish(struct channel_handle *c);
