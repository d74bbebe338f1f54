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
    /* Reader: the writer has finished or vanished (see channel_handle_end_code()). Writer: the reader has left. Called
     * once; the end is freed after it. */
    void (*on_end)(void *arg);
    void (*on_drain)(void *arg); /* writer: the queue drained after it was over the mark; may be NULL */
};

/* Inside on_end: the WebSocket close code of the other end; 1006 when it vanished without one. */
int channel_handle_end_code(const struct channel_handle *c);

/* Returns the bytes queued; past CHANNEL_HANDLE_MARK stop until on_drain. */
#define CHANNEL_HANDLE_MARK (1024 * 1024)
size_t channel_handle_send(struct channel_handle *c, bool is_text, const char *data, size_t len);
void channel_handle_hold(struct channel_handle *c,
                         bool is_held); /* reader: pauses and resumes; the pause reaches the writer */
/* Writer: end of stream. Reader: no more data wanted. No more callbacks; c is freed. NULL is fine. */
struct channel_handle *channel_handle_finish(struct channel_handle *c);
