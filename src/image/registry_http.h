/* One HTTP exchange with a registry: bounded redirects, credentials only to the host they are for, a body that goes to
 * a sink or a capped buffer. Every address is judged before it is connected to, on each hop. Blocks. Untrusted: every
 * reply, and the URL. May include: base/, http/. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "http/outgoing.h"

/* Gets a piece of a good body. A negative return stops the exchange; the sink keeps the cause. */
typedef int registry_http_sink_fn(void *arg, const void *data, size_t len);

struct registry_http_request {
    const char *url;             /* http or https */
    bool is_terse;               /* errors do not tell why a connection failed: they are not for scanning networks */
    struct outgoing rule;        /* where it may connect to, redirects too; zeros allow nothing */
    const char *authorization;   /* value of the header, or NULL; sent to url's own origin only */
    const char *accept;          /* or NULL */
    const char *form;            /* POST body, or NULL: GET */
    int64_t offset;              /* request the body from this offset */
    registry_http_sink_fn *sink; /* body of 200 and 206, from offset on; NULL: into reply->body */
    void *sink_arg;
    const atomic_bool *is_cancelled; /* checked about once a second; may be NULL */
};

struct registry_http_reply {
    int status;
    bool is_unreachable; /* failed before the registry was reached: no such host, not allowed, refused, no TLS */
    bool is_passing;     /* a transient failure: a retry may succeed */
    int64_t retry_after_s;
    char challenge[8192]; /* WWW-Authenticate, "" when absent */
    char content_type[128];
    struct buf body; /* capped; also of errors */
};

void registry_http_reply_done(struct registry_http_reply *r); /* for CLEANUP() too */
/* 0: an HTTP reply arrived, whatever its status. -ECANCELED; otherwise ERR_UPSTREAM. reply is filled either way;
 * body_max bytes of body are kept when there is no sink. */
int registry_http_do(const struct registry_http_request *req, size_t body_max, struct registry_http_reply *reply,
                     struct err *err);
bool registry_http_is_loopback(const char *host); /* "localhost[:port]", "127.x.y.z[:port]" */
char *registry_http_escape(const char *text);     /* for a query string; caller frees */
