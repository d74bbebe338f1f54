/* One stream of a link: what a request opened, with a window of data each way. Embedded in its owner's struct. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "guest/agent/ag_conn.h"

struct ag_stream_ops {
    /* A frame for this stream, layout checked. -EBADMSG ends the link; the stream may be gone afterwards. */
    int (*on_frame)(struct ag_stream *s, uint16_t type, const uint8_t *data, size_t len);
    void (*on_ready)(struct ag_stream *s); /* credit came, or the link has room again */
    void (*on_drop)(struct ag_stream *s);  /* the host forgot it or the link is gone: let go, send nothing */
};

struct ag_stream {
    struct ag_conn *conn; /* NULL once closed */
    struct ag_stream *next;
    const struct ag_stream_ops *ops;
    uint32_t id;
    uint32_t can_send; /* bytes of data the host still takes */
    uint32_t can_come; /* bytes of data the host may still send */
};

void ag_stream_open(struct ag_stream *s, struct ag_conn *c, uint32_t id, const struct ag_stream_ops *ops);
void ag_stream_close(struct ag_stream *s); /* takes it off its link; fine when closed */
struct ag_stream *ag_stream_find(struct ag_conn *c, uint32_t id);
void ag_stream_credit(struct ag_stream *s, uint32_t bytes); /* gives the host its window back */
int ag_stream_take(struct ag_stream *s, size_t len);        /* counts data that came; -EBADMSG beyond the window */
/* A CREDIT frame of the host. The stream may be gone afterwards. -EBADMSG beyond the window. */
int ag_stream_credited(struct ag_stream *s, const uint8_t *data, size_t len);
