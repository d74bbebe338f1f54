/* WebSocket frames (RFC 6455, section 5) as pure functions over memory: no sockets, no loop. Untrusted: every byte
 * given to the reader. May include: base/. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum ws_frame_op {
    WS_FRAME_CONT = 0,
    WS_FRAME_TEXT = 1,
    WS_FRAME_BINARY = 2,
    WS_FRAME_CLOSE = 8,
    WS_FRAME_PING = 9,
    WS_FRAME_PONG = 10
};

enum { WS_FRAME_HEAD_MAX = 14, WS_FRAME_CONTROL_MAX = 125 };

/* Close codes for a peer that breaks the protocol; readers return them negated. */
enum { WS_FRAME_PROTOCOL = 1002, WS_FRAME_NOT_UTF8 = 1007, WS_FRAME_TOO_BIG = 1009, WS_FRAME_NO_MEMORY = 1011 };

struct ws_frame_item { /* a complete message or one control frame; data is valid until the next call */
    enum ws_frame_op op;
    const char *data;
    size_t len;
};

struct ws_frame_reader { /* all private */
    bool is_mask_expected, has_head, is_delivered;
    struct buf message;
    enum ws_frame_op message_op; /* of the first fragment; WS_FRAME_CONT when none is open */
    uint8_t head[WS_FRAME_HEAD_MAX];
    size_t head_len;
    enum ws_frame_op op;
    bool is_fin;
    uint64_t left; /* payload bytes of the frame that are still missing */
    size_t mask_at;
    uint8_t mask[4];
    char control[WS_FRAME_CONTROL_MAX + 1];
    size_t control_len;
};

void ws_frame_reader_init(struct ws_frame_reader *r, bool is_mask_expected, size_t message_max);
void ws_frame_reader_done(struct ws_frame_reader *r);
/* The item that was returned last is no longer needed: gives back its memory, beyond a little. */
void ws_frame_forget(struct ws_frame_reader *r);
/* Reads up to the next item. 1: *ret is filled; 0: more bytes are needed; otherwise minus a close code, and the reader
 * must not be used again. *ret_used: bytes of data that were consumed. */
int ws_frame_read(struct ws_frame_reader *r, const char *data, size_t len, size_t *ret_used, struct ws_frame_item *ret);

/* A frame's head with FIN set; mask NULL for none. Returns its length. */
size_t ws_frame_head(enum ws_frame_op op, size_t len, const uint8_t mask[4], uint8_t out[WS_FRAME_HEAD_MAX]);
void ws_frame_mask(char *data, size_t len, const uint8_t mask[4], size_t at); /* at: offset of data in its frame */

/* A close frame's payload. Parse: 0 with *ret_code 1005 when there is none, or minus a close code. reason is
 * NUL-terminated. */
size_t ws_frame_close_make(int code, const char *reason, char out[WS_FRAME_CONTROL_MAX]);
int ws_frame_close_parse(const char *data, size_t len, int *ret_code, char reason[WS_FRAME_CONTROL_MAX]);
