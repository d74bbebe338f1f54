/* One MCP session: JSON-RPC messages in, messages out, whatever carries them. Untrusted: every message. May include:
 * base/, loop/, mcp/. Invariants: (1) a request is answered exactly once, unless its client cancelled it or left; (2)
 * the number of requests under way, of messages in a batch and of bytes kept of a stream is bounded; (3) the sender of
 * a message is told its end once, after the last answer. */
#pragma once
#include "base/json.h"
#include "loop/loop.h"
#include "mcp/mcpback.h"

#define MCPSESSION_MESSAGE_MAX ((size_t)32 << 20) /* bytes of one message */
#define MCPSESSION_RUNNING_MAX 64                 /* requests under way in one session */
#define MCPSESSION_BATCH_MAX   64
#define MCPSESSION_ID_MAX      256          /* bytes of a request's id, and of a progress token */
#define MCPSESSION_STATEFUL    "2025-11-25" /* the newest revision with sessions and initialize */
#define MCPSESSION_NEWEST      "2026-07-28" /* every request says its version itself; there are no sessions */

enum mcpsession_code {
    MCPSESSION_PARSE = -32700,
    MCPSESSION_INVALID = -32600,
    MCPSESSION_NO_METHOD = -32601,
    MCPSESSION_PARAMS = -32602,
    MCPSESSION_INTERNAL = -32603,
    MCPSESSION_BUSY = -32000,
    MCPSESSION_NO_RESOURCE = -32002,
    MCPSESSION_HEADERS = -32020, /* HTTP headers that say something else than the message */
    MCPSESSION_VERSION = -32022, /* none of ours; data.supported names them */
};

/* Who sent a message, and gets what belongs to it. */
struct mcpsession_sink {
    void (*send)(void *arg, const json_t *message);
    void (*end)(void *arg); /* perhaps from inside mcpsession_take() */
    void *arg;
};
struct mcpsession;
struct mcpexchange; /* a message whose requests are not all answered */

struct mcpsession *mcpsession_new(struct loop *l, const struct mcpback *back); /* back must outlive it */
void mcpsession_choose(struct mcpsession *s, const char *choice); /* only these tools, as mcptool_is_chosen() says */
struct mcpsession *mcpsession_free(struct mcpsession *s);         /* ends all work; ends of exchanges are told */
DEFINE_CLEANUP(struct mcpsession *, mcpsession_free)
/* message is borrowed. NULL: its end was told already; else the exchange, good until its end. */
struct mcpexchange *mcpsession_take(struct mcpsession *s, const json_t *message, const struct mcpsession_sink *sink);
void mcpsession_leave(struct mcpexchange *x); /* its sender is gone: its work is ended, nothing more is told */
unsigned mcpsession_running(const struct mcpsession *s);
const char *mcpsession_version(const struct mcpsession *s); /* as negotiated */

bool mcpsession_knows(const char *version); /* for sessions */
const char *
mcpsession_stated_version(const json_t *message); /* in the request itself, known or not; NULL: none. Borrowed */
bool mcpsession_is_request(const json_t *message, const char *method); /* method NULL: any. Looks into batches */
json_t *mcpsession_error(const json_t *id, int code,
                         const char *text); /* a whole message; id NULL: null. Caller owns */
