#include "http/ws_frame.h"

#include <assert.h>
#include <string.h>

#include "base/utf8.h"

enum { KEEP_BYTES = 65536 }; /* memory an idle reader may keep */

void ws_frame_reader_init(struct ws_frame_reader *r, bool is_mask_expected, size_t message_max)
{
    *r = (struct ws_frame_reader){ .is_mask_expected = is_mask_expected, .message = BUF_INIT(message_max) };
}

void ws_frame_reader_done(struct ws_frame_reader *r)
{
    buf_done(&r->message);
}

void ws_frame_mask(char *data, size_t len, const uint8_t mask[4], size_t at)
{
    uint8_t turned[8];
    for (size_t i = 0; i < 8; i++)
        turned[i] = mask[(at + i) & 3];
    uint64_t wide;
    memcpy(&wide, turned, 8);
    size_t i = 0;
    for (; i + 8 <= len; i += 8) {
        uint64_t word;
        memcpy(&word, data + i, 8);
        word ^= wide;
        memcpy(data + i, &word, 8);
    }
    for (; i < len; i++)
        data[i] = (char)(data[i] ^ turned[i & 7]);
}

/* Length of the frame head that begins with these bytes; 2 bytes are always enough. */
static size_t head_size(const uint8_t *head)
{
    unsigned short_len = head[1] & 0x7f;
    size_t extra = short_len == 126 ? 2 : short_len == 127 ? 8 : 0;
    return 2 + extra + (head[1] & 0x80 ? 4 : 0);
}

static int check_order(const struct ws_frame_reader *r)
{
    bool is_open = r->message_op != WS_FRAME_CONT;
    switch ((int)r->op) {
    case WS_FRAME_CONT:
        return is_open ? 0 : -WS_FRAME_PROTOCOL;
    case WS_FRAME_TEXT:
    case WS_FRAME_BINARY:
        return is_open ? -WS_FRAME_PROTOCOL : 0;
    case WS_FRAME_CLOSE:
    case WS_FRAME_PING:
    case WS_FRAME_PONG:
        return !r->is_fin || r->left > WS_FRAME_CONTROL_MAX ? -WS_FRAME_PROTOCOL : 0;
    default:
        return -WS_FRAME_PROTOCOL;
    }
}

static int start_frame(struct ws_frame_reader *r)
{
    const uint8_t *h = r->head;
    bool is_masked = h[1] & 0x80;
    size_t at = 2;
    if (h[0] & 0x70 || is_masked != r->is_mask_expected)
        return -WS_FRAME_PROTOCOL; /* no extension was negotiated; clients mask, servers do not */
    r->op = (enum ws_frame_op)(h[0] & 0x0f);
    r->is_fin = h[0] & 0x80;
    r->left = h[1] & 0x7f;
    size_t extra = r->left == 126 ? 2 : r->left == 127 ? 8 : 0;
    if (extra) {
        uint64_t least = extra == 2 ? 126 : 65536;
        r->left = 0;
        for (size_t i = 0; i < extra; i++)
            r->left = r->left << 8 | h[at++];
        if (r->left < least || r->left >> 63)
            return -WS_FRAME_PROTOCOL;
    }
    if (is_masked)
        memcpy(r->mask, h + at, 4);
    int err = check_order(r);
    if (err < 0)
        return err;
    r->mask_at = 0;
    r->control_len = 0;
    if (r->op == WS_FRAME_TEXT || r->op == WS_FRAME_BINARY)
        r->message_op = r->op;
    bool is_data = r->op < WS_FRAME_CLOSE;
    if (is_data && (r->left > r->message.max || r->message.len > r->message.max - r->left))
        return -WS_FRAME_TOO_BIG;
    r->has_head = true;
    return 0;
}

/* Consumes payload bytes of the current frame. */
static int take_payload(struct ws_frame_reader *r, const char *data, size_t len)
{
    char *at = NULL;
    if (r->op >= WS_FRAME_CLOSE) {
        at = r->control + r->control_len;
        memcpy(at, data, len); /* start_frame() has checked the size */
        r->control_len += len;
    } else {
        if (buf_add(&r->message, data, len) < 0)
            return -WS_FRAME_NO_MEMORY;
        at = r->message.data + r->message.len - len;
    }
    if (r->is_mask_expected)
        ws_frame_mask(at, len, r->mask, r->mask_at);
    r->mask_at += len;
    r->left -= len;
    return 0;
}

static int end_frame(struct ws_frame_reader *r, struct ws_frame_item *ret)
{
    r->has_head = false;
    r->head_len = 0;
    if (r->op >= WS_FRAME_CLOSE) {
        r->control[r->control_len] = '\0';
        *ret = (struct ws_frame_item){ r->op, r->control, r->control_len };
        return 1;
    }
    if (!r->is_fin)
        return 0;
    if (r->message_op == WS_FRAME_TEXT && !utf8_is_valid(buf_text(&r->message), r->message.len))
        return -WS_FRAME_NOT_UTF8;
    *ret = (struct ws_frame_item){ r->message_op, buf_text(&r->message), r->message.len };
    r->message_op = WS_FRAME_CONT;
    r->is_delivered = true;
    return 1;
}

static int read_head(struct ws_frame_reader *r, const char *data, size_t len, size_t *used)
{
    while (r->head_len < 2 || r->head_len < head_size(r->head)) {
        if (*used == len)
            return 0;
        r->head[r->head_len++] = (uint8_t)data[(*used)++];
    }
    return start_frame(r);
}

void ws_frame_forget(struct ws_frame_reader *r)
{
    if (r->is_delivered && r->message.cap > KEEP_BYTES)
        buf_done(&r->message);
    else if (r->is_delivered)
        buf_clear(&r->message);
    r->is_delivered = false;
}

int ws_frame_read(struct ws_frame_reader *r, const char *data, size_t len, size_t *ret_used, struct ws_frame_item *ret)
{
    size_t used = 0;
    int got = 0;
    ws_frame_forget(r);
    while (got == 0) {
        if (!r->has_head)
            got = read_head(r, data, len, &used);
        if (got < 0 || !r->has_head)
            break;
        size_t room = len - used, part = r->left < room ? (size_t)r->left : room;
        if (part)
            got = take_payload(r, data + used, part);
        used += part;
        if (got < 0 || r->left)
            break;
        got = end_frame(r, ret);
    }
    *ret_used = used;
    return got;
}

size_t ws_frame_head(enum ws_frame_op op, size_t len, const uint8_t mask[4], uint8_t out[WS_FRAME_HEAD_MAX])
{
    size_t n = 0;
    out[n++] = (uint8_t)(0x80 | op);
    uint8_t flag = mask ? 0x80 : 0;
    size_t extra = len < 126 ? 0 : len < 65536 ? 2 : 8;
    out[n++] = (uint8_t)(flag | (extra == 0 ? len : extra == 2 ? 126 : 127));
    for (size_t i = extra; i-- > 0;)
        out[n++] = (uint8_t)((uint64_t)len >> (8 * i));
    if (mask) {
        memcpy(out + n, mask, 4);
        n += 4;
    }
    return n;
}

static bool is_close_code(int code)
{
    return (code >= 1000 && code <= 1014 && code != 1004 && code != 1005 && code != 1006) ||
           (code >= 3000 && code <= 4999);
}

size_t ws_frame_close_make(int code, const char *reason, char out[WS_FRAME_CONTROL_MAX])
{
    if (!is_close_code(code))
        return 0; /* 1005 and 1006 are never sent: an empty payload means the same */
    out[0] = (char)(code >> 8);
    out[1] = (char)code;
    size_t len = reason ? strnlen(reason, WS_FRAME_CONTROL_MAX) : 0;
    if (len > WS_FRAME_CONTROL_MAX - 2)
        len = utf8_whole(reason, WS_FRAME_CONTROL_MAX - 2);
    if (len)
        memcpy(out + 2, reason, len);
    return 2 + len;
}

int ws_frame_close_parse(const char *data, size_t len, int *ret_code, char reason[WS_FRAME_CONTROL_MAX])
{
    if (len == 0) {
        *ret_code = 1005;
        reason[0] = '\0';
        return 0;
    }
    if (len == 1 || len > WS_FRAME_CONTROL_MAX)
        return -WS_FRAME_PROTOCOL;
    int code = (uint8_t)data[0] << 8 | (uint8_t)data[1];
    if (!is_close_code(code))
        return -WS_FRAME_PROTOCOL;
    if (!utf8_is_valid(data + 2, len - 2))
        return -WS_FRAME_NOT_UTF8;
    memcpy(reason, data + 2, len - 2);
    reason[len - 2] = '\0';
    *ret_code = code;
    return 0;
}
