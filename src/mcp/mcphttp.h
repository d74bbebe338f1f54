/* MCP over HTTP ("streamable HTTP"): one address that takes POST, GET and DELETE. Who calls is found out before; a
 * session belongs to the caller that began it. Untrusted: every request. May include: base/, loop/, http/, mcp/.
 * Invariants: (1) another caller's session and none are the same: 404; (2) sessions are bounded, and those that nobody
 * used for a while go; (3) a request from a page of a foreign origin is refused before it is read. */
#pragma once
#include <stdbool.h>

#include "http/server.h"
#include "loop/loop.h"
#include "mcp/mcpback.h"

#define MCPHTTP_SESSIONS_MAX 1000
#define MCPHTTP_OWNER_MAX    100     /* sessions of one caller */
#define MCPHTTP_IDLE_MS      1800000 /* a session without a request or stream for so long goes */
#define MCPHTTP_PING_MS      15000   /* between signs of life on a stream */

struct mcphttp_host {
    void *arg;
    struct mcpback *(*open)(void *arg, void *caller); /* what a new session of this caller runs on */
    void (*close)(void *arg, struct mcpback *back);
    const char *origins; /* comma list of further origins that pages may have; "*": any */
};
struct mcphttp;
struct mcphttp *mcphttp_new(struct loop *l, const struct mcphttp_host *host); /* origins must outlive it */
struct mcphttp *mcphttp_free(struct mcphttp *h);
DEFINE_CLEANUP(struct mcphttp *, mcphttp_free)
struct mcphttp_from {
    const char *owner; /* whose sessions it may use and begin */
    void *caller;      /* for open() */
};
/* Answers a request, now or later. ?tools=… in its address chooses tools. */
void mcphttp_serve(struct mcphttp *h, struct http_req *r, const struct mcphttp_from *from);
void mcphttp_end_of(struct mcphttp *h, const char *owner); /* its token is worth nothing any more */
void mcphttp_stop(struct mcphttp *h);                      /* ends streams that would stay open for ever */
size_t mcphttp_sessions(const struct mcphttp *h);
/* Whether a page of this origin may call: it is on this machine, or named in origins. NULL: no page. */
bool mcphttp_allows(const char *origin, const char *origins);
