#include "base/utf8.h"

#include <stdint.h>

size_t utf8_step(const char *s, size_t len)
{
    const unsigned char *p = (const unsigned char *)s;
    if (len == 0)
        return 0;
    if (p[0] < 0x80)
        return 1;
    size_t n = p[0] >= 0xc2 && p[0] <= 0xdf   ? 2
               : p[0] >= 0xe0 && p[0] <= 0xef ? 3
               : p[0] >= 0xf0 && p[0] <= 0xf4 ? 4
                                              : 0;
    if (n == 0 || n > len)
        return 0;
    for (size_t i = 1; i < n; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) || (p[0] == 0xf0 && p[1] < 0x90) ||
        (p[0] == 0xf4 && p[1] > 0x8f))
        return 0;
    return n;
}

bool utf8_is_valid(const char *s, size_t len)
{
    for (size_t i = 0; i < len;) {
        size_t n = utf8_step(s + i, len - i);
        if (n == 0)
            return false;
        i += n;
    }
    return true;
}

int utf8_repair(const char *s, size_t len, struct buf *out)
{
    size_t good = 0;
    for (size_t i = 0; i < len;) {
        size_t n = utf8_step(s + i, len - i);
        if (n) {
            i += n;
            continue;
        }
        int r = buf_add(out, s + good, i - good);
        if (r == 0)
            r = buf_add(out, "\xef\xbf\xbd", 3);
        if (r < 0)
            return r;
        good = ++i;
    }
    return buf_add(out, s + good, len - good);
}

size_t utf8_whole(const char *s, size_t len)
{
    for (size_t back = 1; back <= 3 && back <= len; back++) {
        unsigned char c = (unsigned char)s[len - back];
        if ((c & 0xc0) == 0x80)
            continue;
        size_t want = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;
        return want > back ? len - back : len;
    }
    return len;
}
