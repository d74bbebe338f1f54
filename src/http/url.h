/* Percent-decoding, query strings and absolute URLs. Untrusted: all input. May include: base/. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/limits.h"

/* Appends the decoded bytes of a path segment. -EINVAL for a bad escape or an encoded NUL, otherwise as buf_add(). */
int url_decode(const char *text, size_t len, struct buf *out);

/* Walks "a=b&c": *at starts at the query and advances. 1 with the next pair (value empty when there is no "="), 0 at
 * the end, -EINVAL for a bad escape, or as buf_add(). "+" is a space. Empty pieces are skipped. */
int url_query_next(const char **at, struct buf *ret_key, struct buf *ret_value);

/* The first value of key. 1 when present, 0 when not, otherwise as url_query_next(). */
int url_query_get(const char *query, const char *key, struct buf *ret_value);

enum { URL_HOST_MAX = 256 };

/* for an engine's address without a port, ws:// or wss:// */
#define URL_ENGINE_PORT LIMIT_DEFAULT(ENGINE_PORT)

struct url {
    char host[URL_HOST_MAX]; /* IPv6 without brackets */
    uint16_t port;
    bool is_secure;   /* set by url_parse_either() */
    const char *path; /* points into the text given; "/" when there is none. May include a query */
};

/* scheme: "http" or "ws". -EINVAL when text is not a URL of it. User names and fragments are rejected. */
int url_parse(const char *text, const char *scheme, uint16_t default_port, struct url *ret);
/* The scheme (ports 80 and 443), or its TLS variant with an "s" appended. */
int url_parse_either(const char *text, const char *scheme, struct url *ret);
