/* One stream of a link: opened by a request, with a window of data in each direction. Embedded in its owner's
 * struct. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "agent/conn.h"

struct agent_stream_ops {
    /* A frame for this stream, layout checked. -EBADMSG ends the link; the stream may be freed afterwards. */
    int (*on_frame)(struct agent_stream *s, uint16_t type, const uint8_t *data, size_t len);
    void (*on_ready)(struct agent_stream *s); /* credit arrived, or the link has room again */
    void (*on_drop)(struct agent_stream *s);  /* the host dropped it or the link is gone: release it, send nothing */
};

struct agent_stream {
    struct agent_conn *conn; /* NULL once closed */
    struct agent_stream *next;
    const struct agent_stream_ops *ops;
    uint32_t id;
    uint32_t window;   /* most bytes under way in one direction */
    uint32_t owed;     /* taken, but not credited yet: of a wide window in steps of a quarter */
    uint32_t can_send; /* bytes of data that the host still accepts */
    uint32_t can_come; /* bytes of data that the host may still send */
};

void agent_stream_open(struct agent_stream *s, struct agent_conn *c, uint32_t id, const struct agent_stream_ops *ops);
/* The window of a request that has PROTO_WINDOW_WIDE; right after the open. */
void agent_stream_widen(struct agent_stream *s);
void agent_stream_close(struct agent_stream *s); /* removes it from its link; fine when closed */
struct agent_stream *agent_stream_find(struct agent_conn *c, uint32_t id);
void agent_stream_credit(struct agent_stream *s, uint32_t bytes); /* returns window to the host */
int agent_stream_take(struct agent_stream *s, size_t len);        /* counts received data; -EBADMSG beyond the window */
/* Handles a CREDIT frame. The stream may be freed afterwards. -EBADMSG beyond the window. */
int agent_stream_credited(struct agent_stream *s, const uint8_t *data, size_t len);
