#include "agent/lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FIRST_BYTES (128u * 1024)

void agent_lines_init(struct agent_lines *l, int fd)
{
    *l = (struct agent_lines){ .fd = fd };
}

void agent_lines_done(struct agent_lines *l)
{
    free(l->buf);
}

static int read_more(struct agent_lines *l)
{
    if (l->at > 0) {
        memmove(l->buf, l->buf + l->at, l->len - l->at);
        l->len -= l->at;
        l->at = 0;
    }
    if (l->len == l->cap) {
        size_t cap = l->cap ? l->cap * 2 : FIRST_BYTES;
        char *more = realloc(l->buf, cap);
        if (!more)
            return -ENOMEM;
        l->buf = more;
        l->cap = cap;
    }
    ssize_t n;
    do
        n = read(l->fd, l->buf + l->len, l->cap - l->len);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return -errno;
    l->is_over = n == 0;
    l->len += (size_t)n;
    return 0;
}

static int cut_line(struct agent_lines *l, struct agent_line *ret)
{
    /* The returned line must survive the reading of its rest, which overwrites the buffer behind it. */
    char *kept = malloc(AGENT_LINES_MAX), *end;
    int r = 0;
    if (!kept)
        return -ENOMEM;
    memcpy(kept, l->buf + l->at, AGENT_LINES_MAX);
    while (!(end = memchr(l->buf + l->at, '\n', l->len - l->at)) && !l->is_over && r == 0) {
        l->at = l->len = 0;
        r = read_more(l);
    }
    l->at = end ? (size_t)(end - l->buf) + 1 : l->len;
    size_t rest = l->len - l->at;
    if (r == 0 && rest <= l->cap - AGENT_LINES_MAX) {
        memmove(l->buf + AGENT_LINES_MAX, l->buf + l->at, rest);
        memcpy(l->buf, kept, AGENT_LINES_MAX);
        l->at = AGENT_LINES_MAX;
        l->len = AGENT_LINES_MAX + rest;
        *ret = (struct agent_line){ .text = l->buf, .len = AGENT_LINES_MAX, .has_newline = true, .is_cut = true };
        r = 1;
    } else if (r == 0) {
        r = -ENOMEM;
    }
    free(kept);
    return r;
}

int agent_lines_next(struct agent_lines *l, struct agent_line *ret)
{
    size_t seen = 0; /* bytes that are known to hold no newline */
    for (;;) {
        size_t left = l->len - l->at;
        char *end = left > seen ? memchr(l->buf + l->at + seen, '\n', left - seen) : NULL;
        if (end || (l->is_over && left > 0)) {
            size_t n = end ? (size_t)(end - (l->buf + l->at)) : left;
            *ret = (struct agent_line){ .text = l->buf + l->at, .len = n, .has_newline = end };
            l->at += n + (end ? 1 : 0);
            return 1;
        }
        if (l->is_over)
            return 0;
        if (left >= AGENT_LINES_MAX && l->cap >= 2 * AGENT_LINES_MAX)
            return cut_line(l, ret);
        seen = left;
        int r = read_more(l);
        if (r < 0)
            return r;
    }
}

static size_t utf8_length(const unsigned char *s, size_t len)
{
    static const unsigned least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    if (s[0] < 0x80)
        return 1;
    size_t n = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
    if (s[0] < 0xc2 || s[0] > 0xf4 || n > len)
        return 0;
    unsigned c = s[0] & (0x7fu >> n);
    for (size_t i = 1; i < n; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
        c = c << 6 | (s[i] & 0x3fu);
    }
    return c < least[n] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff) ? 0 : n;
}

bool agent_lines_is_utf8(const char *s, size_t len)
{
    for (size_t at = 0, n; at < len; at += n)
        if ((n = utf8_length((const unsigned char *)s + at, len - at)) == 0)
            return false;
    return true;
}
