/* Operations carried out by a server that is reached over REST. Untrusted: its answers (capped). May include: base/,
 * loop/, http/, tls/, mcp/. */
#pragma once
#include "loop/loop.h"
#include "mcp/mcp_backend.h"

struct mcp_remote;
struct tls_context_trust;
struct mcp_remote_where {
    const char *url;                       /* "http://localhost:3111" */
    const char *prefix;                    /* "sandbox" */
    const char *token;                     /* NULL or "": none */
    const struct tls_context_trust *trust; /* for https://; NULL: the system's store. Must outlive it */
};
struct mcp_remote *mcp_remote_new(struct loop *l, const struct mcp_remote_where *where);
struct mcp_remote *mcp_remote_free(struct mcp_remote *m); /* when nothing runs any more */
const struct mcp_backend *mcp_remote_back(const struct mcp_remote *m);
