/* One call to the engine: JSON in, JSON out. Untrusted: all that comes back (sizes are capped, JSON is read strictly).
 * May include: base/, loop/, http/. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "http/client.h"
#include "loop/loop.h"
#include "runtime/docker/dkhost.h"

#define DKCALL_BODY_MAX (8u << 20)
#define DKCALL_VERSION  "/v1.41"

struct dkcall;
/* All calls under way, so that they can be ended together. */
struct dkcall_set {
    struct loop *loop;
    const struct dkhost *host;
    struct dkcall *first;
};

/* status 2xx and 304, body NULL when there is none: err NULL. Anything else: err, as dkreply_error() says. Once, never
 * from inside dkcall_start(). */
typedef void dkcall_fn(void *arg, json_t *body, const struct err *err);
/* Each complete line of the answer, as it comes, without its end (progress of a pull). */
typedef void dkcall_line_fn(void *arg, const char *line, size_t len);

struct dkcall_request {
    const char *method, *path; /* path: after the version, with its query */
    const json_t *body;        /* borrowed, or NULL */
    const char *what;          /* for messages: "create container sbx_…" */
    int64_t timeout_ms;        /* 0: 60 s; less than 0: none */
    dkcall_line_fn *on_line;   /* then fn's body is NULL */
    dkcall_line_fn *on_bytes;  /* the answer as it comes, instead; fn's body is NULL, too */
};
struct dkcall *dkcall_start(struct dkcall_set *set, const struct dkcall_request *req, dkcall_fn *fn, void *arg);
void dkcall_cancel(struct dkcall *c);             /* fn is not called */
void dkcall_hold(struct dkcall *c, bool is_held); /* stop and resume reading the answer */
/* The call goes on, but nobody waits for its answer any more: fn is not called. Returns NULL. */
struct dkcall *dkcall_let_go(struct dkcall *c);
/* Ends every call; their functions are told so, to free what is theirs. They call nobody above the driver then: whoever
 * asked may be gone. */
void dkcall_end_all(struct dkcall_set *set);
bool dkcall_is_over(const struct err *err);

/* Appends text with everything escaped that a query does not take as it is. */
void dkcall_escape(struct buf *out, const char *text);
