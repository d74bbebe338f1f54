/* A small HTTP/1.1 client on the loop: one request, one connection, over TCP or a unix socket. Streams the response.
 * Untrusted: everything the server sends (heads are capped, bodies by body_max). May include: base/, loop/. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "http/outgoing.h"
#include "loop/loop.h"

struct http_client; /* one call */

struct tls_context_trust;

struct http_client_request {
    const char *method;    /* "GET" */
    const char *url;       /* "http://host:port/path", https:// with TLS; with unix_path only the path: "/v1.43/info" */
    const char *unix_path; /* the socket's path, or NULL for TCP */
    const char *const *headers; /* "Name: value", ended by NULL; or NULL. Host and Content-Length are set here */
    const char *body;           /* copied; NULL for none */
    size_t body_len;
    const int *body_fd; /* instead of body: what this pipe yields until its end, sent in chunks; NULL: none. The client
                           owns it when http_client_start() succeeds, and closes it with the call at the latest */
    int64_t timeout_ms; /* for the whole call; 0 means 30 s, less than 0 no limit once connected */
    size_t body_max;    /* response bytes; 0 means no limit: on_data limits what it keeps */
    const struct tls_context_trust *trust; /* for https://; NULL: the system's store */
    struct outgoing rule; /* for TCP: where it may connect to, otherwise it ends with ERR_FORBIDDEN. Zeros allow
                             nothing. Its lists outlive the call */
};

struct http_client_events {
    void (*on_head)(void *arg, struct http_client *c,
                    int status); /* may be NULL. Interim (1xx) responses are skipped */
    void (*on_data)(void *arg, struct http_client *c, const char *data, size_t len); /* may be NULL */
    /* Once, never from inside http_client_start(); c is freed after it. err NULL: the response is complete. */
    void (*on_done)(void *arg, struct http_client *c, const struct err *err);
};

/* -EINVAL for a bad URL, method or header. */
int http_client_start(struct loop *l, const struct http_client_request *req, const struct http_client_events *ev,
                      void *arg, struct http_client **ret, struct err *err);
struct http_client *http_client_free(struct http_client *c); /* cancels: no more callbacks */
DEFINE_CLEANUP(struct http_client *, http_client_free)

/* From on_head on. */
int http_client_status(const struct http_client *c);
const char *http_client_header(const struct http_client *c, const char *name); /* first one, any case; or NULL */
void http_client_hold(struct http_client *c, bool is_held);                    /* pauses and resumes reading */
