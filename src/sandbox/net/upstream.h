/* One HTTP/1.1 request to a server inside a sandbox, over a tunnel of its agent: the image needs no client and the
 * sandbox no network. The caller makes the request's head; the response is parsed and streamed. Untrusted: the server
 * inside. May include: base/, loop/, http/, guest/, sandbox/. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "http/http_reply.h"
#include "sandbox/lifecycle/sandbox.h"

struct upstream;

struct upstream_plan {
    uint16_t port;
    bool is_head_method;   /* the response has no body whatever its head says */
    int64_t timeout_ms;    /* of the whole call; each upstream_write() restarts it */
    bool is_timed_to_head; /* only until the response's head: a stream may last */
    size_t queue_max;      /* bytes that upstream_write() may pile up */
};

/* None comes from inside a call below; each may call upstream_free(). */
struct upstream_events {
    void (*on_head)(void *arg, const struct http_reply *reply); /* not for 101 */
    void (*on_data)(void *arg, const char *data, size_t len);   /* credit it */
    void (*on_drain)(void *arg);                                /* all that was written has gone; may be NULL */
    /* 101: upstream_take() now, else the call fails. rest: bytes of the new protocol. May be NULL. */
    void (*on_upgraded)(void *arg, const struct http_reply *reply, const char *rest, size_t len);
    /* Once, the last one; u is freed after it. err: ERR_UPSTREAM nobody listens or no valid answer, ERR_TIMEOUT. */
    void (*on_done)(void *arg, const struct err *err);
};

int upstream_new(struct sandbox *s, const struct upstream_plan *plan, const struct upstream_events *ev, void *arg,
                 struct upstream **ret, struct err *err);
struct upstream *upstream_free(struct upstream *u); /* gives up; no more callbacks */
DEFINE_CLEANUP(struct upstream *, upstream_free)

/* Head and body bytes. Returns how many wait: past a mark of the caller's choice it should pause until on_drain. */
size_t upstream_write(struct upstream *u, const char *data, size_t len);
void upstream_credit(struct upstream *u, size_t bytes);
struct guest_tunnel *upstream_take(struct upstream *u); /* from on_upgraded: the tunnel is the caller's */
