/* WebSocket frames (RFC 6455, section 5) as pure functions over memory: no sockets, no loop. Untrusted: every byte
 * given to the reader. May include: base/. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum wsframe_op {
    WSFRAME_CONT = 0,
    WSFRAME_TEXT = 1,
    WSFRAME_BINARY = 2,
    WSFRAME_CLOSE = 8,
    WSFRAME_PING = 9,
    WSFRAME_PONG = 10
};

enum { WSFRAME_HEAD_MAX = 14, WSFRAME_CONTROL_MAX = 125 };

/* What to say when the peer breaks the rules; readers return them negated. */
enum { WSFRAME_PROTOCOL = 1002, WSFRAME_NOT_UTF8 = 1007, WSFRAME_TOO_BIG = 1009, WSFRAME_NO_MEMORY = 1011 };

struct wsframe_item { /* a whole message or one control frame; data is valid until the next call */
    enum wsframe_op op;
    const char *data;
    size_t len;
};

struct wsframe_reader { /* all private */
    bool is_mask_expected, has_head, is_delivered;
    struct buf message;
    enum wsframe_op message_op; /* of the first fragment; WSFRAME_CONT when none is open */
    uint8_t head[WSFRAME_HEAD_MAX];
    size_t head_len;
    enum wsframe_op op;
    bool is_fin;
    uint64_t left; /* payload bytes of the frame that are still to come */
    size_t mask_at;
    uint8_t mask[4];
    char control[WSFRAME_CONTROL_MAX + 1];
    size_t control_len;
};

void wsframe_reader_init(struct wsframe_reader *r, bool is_mask_expected, size_t message_max);
void wsframe_reader_done(struct wsframe_reader *r);
/* Reads as far as the next item. 1: *ret is filled; 0: more bytes are needed; else minus a close code, and the reader
 * is of no more use. *ret_used says how much of data was taken. */
int wsframe_read(struct wsframe_reader *r, const char *data, size_t len, size_t *ret_used, struct wsframe_item *ret);

/* A frame's head with FIN set; mask NULL for none. Returns its length. */
size_t wsframe_head(enum wsframe_op op, size_t len, const uint8_t mask[4], uint8_t out[WSFRAME_HEAD_MAX]);
void wsframe_mask(char *data, size_t len, const uint8_t mask[4], size_t at); /* at: offset of data in its frame */

/* A close frame's payload. Parse: 0 with *ret_code 1005 when there is none, or minus a close code. reason is filled
 * with text that ends in a NUL. */
size_t wsframe_close_make(int code, const char *reason, char out[WSFRAME_CONTROL_MAX]);
int wsframe_close_parse(const char *data, size_t len, int *ret_code, char reason[WSFRAME_CONTROL_MAX]);
