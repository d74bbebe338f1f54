/* One MCP session: JSON-RPC messages in, messages out, whatever carries them. Untrusted: every message. May include:
 * base/, loop/, mcp/. Invariants: (1) a request is answered exactly once, unless its client cancelled it or left; (2)
 * the number of requests under way, of messages in a batch and of bytes kept of a stream is bounded; (3) the sender of
 * a message gets its end callback once, after the last reply. */
#pragma once
#include "base/json.h"
#include "loop/loop.h"
#include "mcp/mcp_backend.h"

#define MCP_SESSION_MESSAGE_MAX ((size_t)32 << 20) /* bytes of one message */
#define MCP_SESSION_RUNNING_MAX 64                 /* requests under way in one session */
#define MCP_SESSION_BATCH_MAX   64
#define MCP_SESSION_ID_MAX      256          /* bytes of a request's id, and of a progress token */
#define MCP_SESSION_STATEFUL    "2025-11-25" /* the newest revision with sessions and initialize */
#define MCP_SESSION_NEWEST      "2026-07-28" /* every request says its version itself; there are no sessions */

enum mcp_session_code {
    MCP_SESSION_PARSE = -32700,
    MCP_SESSION_INVALID = -32600,
    MCP_SESSION_NO_METHOD = -32601,
    MCP_SESSION_PARAMS = -32602,
    MCP_SESSION_INTERNAL = -32603,
    MCP_SESSION_BUSY = -32000,
    MCP_SESSION_NO_RESOURCE = -32002,
    MCP_SESSION_HEADERS = -32020, /* HTTP headers that contradict the message */
    MCP_SESSION_VERSION = -32022, /* none of ours; data.supported names them */
};

/* The sender of a message, which gets its replies and notifications. */
struct mcp_session_sink {
    void (*send)(void *arg, const json_t *message);
    void (*end)(void *arg); /* perhaps from inside mcp_session_take() */
    void *arg;
    const char *traceparent; /* of what carried the message, or NULL; borrowed during mcp_session_take() */
};
struct mcp_session;
struct mcp_exchange; /* a message whose requests are not all answered */

struct mcp_session *mcp_session_new(struct loop *l, const struct mcp_backend *back); /* back must outlive it */
void mcp_session_choose(struct mcp_session *s, const char *choice); /* only these tools, as mcp_tool_is_chosen() says */
struct mcp_session *mcp_session_free(struct mcp_session *s); /* cancels all work; exchanges get their end callback */
DEFINE_CLEANUP(struct mcp_session *, mcp_session_free)
/* message is borrowed. NULL: it has ended already; else the exchange, valid until its end. */
struct mcp_exchange *mcp_session_take(struct mcp_session *s, const json_t *message,
                                      const struct mcp_session_sink *sink);
void mcp_session_leave(struct mcp_exchange *x); /* its sender is gone: cancels its work, without further callbacks */
/* Where notifications go that belong to no request: resources that were subscribed to. Without it there are none. */
void mcp_session_on_notes(struct mcp_session *s, const struct mcp_session_sink *sink);
unsigned mcp_session_running(const struct mcp_session *s);    /* requests under way, without subscriptions */
const char *mcp_session_version(const struct mcp_session *s); /* as negotiated */

bool mcp_session_knows(const char *version); /* for sessions */
const char *
mcp_session_stated_version(const json_t *message); /* in the request itself, known or not; NULL: none. Borrowed */
/* What a request of MCP_SESSION_NEWEST lacks in its params._meta; NULL: nothing. */
const char *mcp_session_meta_fault(const json_t *message);
bool mcp_session_is_request(const json_t *message, const char *method); /* method NULL: any. Looks into batches */
json_t *mcp_session_error(const json_t *id, int code,
                          const char *text); /* a whole message; id NULL: null. Caller owns */
