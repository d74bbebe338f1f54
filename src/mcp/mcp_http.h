/* MCP over HTTP ("streamable HTTP"): one address that takes POST, GET and DELETE. The caller is authenticated before; a
 * session belongs to the caller that started it. Untrusted: every request. May include: base/, loop/, http/, mcp/.
 * Invariants: (1) another caller's session and an unknown one are both 404; (2) sessions are bounded, and unused ones
 * are removed after a while; (3) a request from a page of an origin that is not allowed is refused before it is read.
 */
#pragma once
#include <stdbool.h>

#include "http/server.h"
#include "loop/loop.h"
#include "mcp/mcp_backend.h"

#define MCP_HTTP_SESSIONS_MAX 1000
#define MCP_HTTP_OWNER_MAX    100     /* sessions of one caller */
#define MCP_HTTP_TENANT_MAX   250     /* of all callers of one tenant */
#define MCP_HTTP_IDLE_MS      1800000 /* a session without a request or stream for so long is removed */
#define MCP_HTTP_PING_MS      15000   /* between signs of life on a stream */

struct mcp_http_host {
    void *arg;
    struct mcp_backend *(*open)(void *arg, void *caller); /* what a new session of this caller runs on */
    void (*close)(void *arg, struct mcp_backend *back);
    const char *origins; /* comma list of further origins that pages may have; "*": any */
};
struct mcp_http;
struct mcp_http *mcp_http_new(struct loop *l, const struct mcp_http_host *host); /* origins must outlive it */
struct mcp_http *mcp_http_free(struct mcp_http *h);
DEFINE_CLEANUP(struct mcp_http *, mcp_http_free)
struct mcp_http_from {
    const char *owner;  /* whose sessions it may use and begin */
    const char *tenant; /* whose share of the sessions it uses; "": the operator's */
    void *caller;       /* for open() */
};
/* Answers a request, now or later. ?tools=… in its address chooses tools. */
void mcp_http_serve(struct mcp_http *h, struct http_req *r, const struct mcp_http_from *from);
void mcp_http_end_of(struct mcp_http *h, const char *owner); /* its token is revoked or expired */
void mcp_http_stop(struct mcp_http *h);                      /* ends streams that would stay open for ever */
size_t mcp_http_sessions(const struct mcp_http *h);
/* Whether a page of this origin may call: it is on this host, or named in origins. NULL: no page. */
bool mcp_http_allows(const char *origin, const char *origins);
