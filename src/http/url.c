#include "http/url.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static int hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static int decode(const char *text, size_t len, bool is_plus_blank, struct buf *out)
{
    for (size_t i = 0; i < len; i++) {
        char c = text[i];
        if (c == '%') {
            int high = i + 2 < len ? hex(text[i + 1]) : -1, low = high >= 0 ? hex(text[i + 2]) : -1;
            if (high < 0 || low < 0 || (high == 0 && low == 0))
                return -EINVAL;
            c = (char)(high << 4 | low);
            i += 2;
        } else if (c == '+' && is_plus_blank) {
            c = ' ';
        }
        int r = buf_add_char(out, c);
        if (r < 0)
            return r;
    }
    return 0;
}

int url_decode(const char *text, size_t len, struct buf *out)
{
    return decode(text, len, false, out);
}

int url_query_next(const char **at, struct buf *ret_key, struct buf *ret_value)
{
    const char *p = *at + strspn(*at, "&");
    buf_clear(ret_key);
    buf_clear(ret_value);
    *at = p;
    if (!*p)
        return 0;
    size_t len = strcspn(p, "&");
    const char *equals = memchr(p, '=', len);
    size_t key_len = equals ? (size_t)(equals - p) : len;
    int r = decode(p, key_len, true, ret_key);
    if (r == 0 && equals)
        r = decode(equals + 1, len - key_len - 1, true, ret_value);
    if (r < 0)
        return r;
    *at = p + len;
    return 1;
}

int url_query_get(const char *query, const char *key, struct buf *ret_value)
{
    struct buf name = BUF_INIT(strlen(query));
    int r;
    while ((r = url_query_next(&query, &name, ret_value)) > 0)
        if (strcmp(buf_text(&name), key) == 0)
            break;
    buf_done(&name);
    if (r <= 0)
        buf_clear(ret_value);
    return r;
}

/* Parses host[:port], all of len bytes. */
static int parse_authority(const char *text, size_t len, struct url *ret)
{
    size_t skip = len && text[0] == '[';
    const char *end = skip ? memchr(text, ']', len) : memchr(text, ':', len);
    if (skip && !end)
        return -EINVAL;
    size_t host_len = end ? (size_t)(end - text) - skip : len;
    if (!host_len || host_len >= sizeof ret->host)
        return -EINVAL;
    memcpy(ret->host, text + skip, host_len);
    ret->host[host_len] = '\0';
    const char *rest = text + skip + host_len + skip, *stop = text + len;
    if (rest == stop)
        return 0;
    long port = 0;
    if (*rest++ != ':' || rest == stop || stop - rest > 5)
        return -EINVAL;
    for (; rest < stop; rest++) {
        if (*rest < '0' || *rest > '9')
            return -EINVAL;
        port = port * 10 + (*rest - '0');
    }
    if (port < 1 || port > 65535)
        return -EINVAL;
    ret->port = (uint16_t)port;
    return 0;
}

int url_parse(const char *text, const char *scheme, uint16_t default_port, struct url *ret)
{
    size_t n = strlen(scheme);
    if (strncasecmp(text, scheme, n) != 0 || strncmp(text + n, "://", 3) != 0)
        return -EINVAL;
    for (const char *p = text; *p; p++)
        if ((unsigned char)*p <= 0x20 || (unsigned char)*p >= 0x7f || *p == '#')
            return -EINVAL;
    const char *host = text + n + 3;
    size_t len = strcspn(host, "/?");
    if (memchr(host, '@', len) || host[len] == '?')
        return -EINVAL; /* a query needs a path before it: "/?x" */
    struct url u = { .port = default_port, .path = host[len] ? host + len : "/" };
    if (parse_authority(host, len, &u) < 0)
        return -EINVAL;
    *ret = u;
    return 0;
}

int url_parse_either(const char *text, const char *scheme, struct url *ret)
{
    char secure[16];
    (void)snprintf(secure, sizeof secure, "%ss", scheme);
    if (url_parse(text, scheme, 80, ret) == 0)
        return 0;
    if (url_parse(text, secure, 443, ret) < 0)
        return -EINVAL;
    ret->is_secure = true;
    return 0;
}
