/* Operations carried out by a server that is reached over REST. Untrusted: its answers (capped). May include: base/,
 * loop/, http/, tls/, mcp/. */
#pragma once
#include "loop/loop.h"
#include "mcp/mcpback.h"

struct mcpremote;
struct tlsctx_trust;
struct mcpremote_where {
    const char *url;                  /* "http://localhost:3111" */
    const char *prefix;               /* "sandbox" */
    const char *token;                /* NULL or "": none */
    const struct tlsctx_trust *trust; /* for https://; NULL: the system's store. Must outlive it */
};
struct mcpremote *mcpremote_new(struct loop *l, const struct mcpremote_where *where);
struct mcpremote *mcpremote_free(struct mcpremote *m); /* when nothing runs any more */
const struct mcpback *mcpremote_back(const struct mcpremote *m);
