/* A stream of HTTP/1.1 requests as a client sends them to some other server: each head is checked as strictly as one of
 * our own requests, and its bytes are cleared for sending only after the owner has seen it. Untrusted: every byte.
 * Heads are limited to 64 KiB and 200 headers. May include: base/, http/. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"

struct http_requests;

struct http_requests_head { /* borrowed until the call returns */
    const char *method, *target;
    const char *host;              /* the value of Host, which an absolute target repeats; NULL: HTTP/1.0 without one */
    bool is_upgrade, is_websocket; /* has an Upgrade header; it is exactly "websocket" */
};

/* False: this request is not sent, and nothing after it. */
typedef bool http_requests_fn(void *arg, const struct http_requests_head *head);

struct http_requests *http_requests_new(http_requests_fn *fn, void *arg);
struct http_requests *http_requests_free(struct http_requests *r);
DEFINE_CLEANUP(struct http_requests *, http_requests_free)

/* The next bytes. *ret_pass: how many more bytes of the stream, counted from the first one that was not cleared before,
 * may be sent now, also on failure. -EPROTO: not HTTP, ambiguous, CONNECT, or denied by fn; do not call it again. */
int http_requests_feed(struct http_requests *r, const char *data, size_t len, size_t *ret_pass);
const char *http_requests_problem(const struct http_requests *r); /* after a failure */
