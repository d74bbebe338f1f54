#include "base/base64.h"

#include <errno.h>
#include <stdint.h>

#include "base/cleanup.h"

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_encode(const void *data, size_t len, char *out)
{
    const uint8_t *p = data;
    for (; len >= 3; len -= 3, p += 3, out += 4) {
        uint32_t v = (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];
        out[0] = letters[v >> 18];
        out[1] = letters[v >> 12 & 63];
        out[2] = letters[v >> 6 & 63];
        out[3] = letters[v & 63];
    }
    if (len) {
        uint32_t v = (uint32_t)p[0] << 16 | (len > 1 ? (uint32_t)p[1] << 8 : 0);
        out[0] = letters[v >> 18];
        out[1] = letters[v >> 12 & 63];
        out[2] = len > 1 ? letters[v >> 6 & 63] : '=';
        out[3] = '=';
        out += 4;
    }
    *out = '\0';
}

static int value_of(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

int base64_decode(const char *text, size_t len, struct buf *out)
{
    if (len % 4)
        return -EINVAL;
    int r = buf_reserve(out, len / 4 * 3);
    if (r < 0)
        return r;
    for (size_t i = 0; i < len; i += 4) {
        int is_last = i + 4 == len;
        int pad = is_last ? (text[i + 3] == '=') + (text[i + 3] == '=' && text[i + 2] == '=') : 0;
        uint32_t v = 0;
        for (int k = 0; k < 4; k++) {
            int d = k >= 4 - pad ? 0 : value_of(text[i + (size_t)k]);
            if (d < 0)
                return -EINVAL;
            v = v << 6 | (uint32_t)d;
        }
        if ((pad == 1 && v & 0xff) || (pad == 2 && v & 0xffff))
            return -EINVAL; /* non-zero padding bits: no encoder sets them */
        char bytes[3] = { (char)(v >> 16), (char)(v >> 8 & 0xff), (char)(v & 0xff) };
        r = buf_add(out, bytes, (size_t)(3 - pad));
        if (r < 0)
            return r;
    }
    return 0;
}

int base64_decode_url(const char *text, size_t len, struct buf *out)
{
    static const char pad[] = "==";
    CLEANUP(buf_done) struct buf plain = BUF_INIT(len + sizeof(pad));
    int r = len % 4 == 1 ? -EINVAL : buf_reserve(&plain, len + sizeof(pad) - 1);
    for (size_t i = 0; r == 0 && i < len; i++) {
        char c = text[i];
        r = c == '+' || c == '/' || c == '=' ? -EINVAL : buf_add_char(&plain, c == '-' ? '+' : c == '_' ? '/' : c);
    }
    if (r == 0)
        r = buf_add(&plain, pad, (4 - len % 4) % 4);
    return r < 0 ? r : base64_decode(buf_text(&plain), plain.len, out);
}
