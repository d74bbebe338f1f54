/* One call to the engine: JSON request, JSON response. Untrusted: all that is received (sizes are bounded, JSON is
 * parsed strictly). May include: base/, loop/, http/, tls/. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "http/client.h"
#include "loop/loop.h"
#include "runtime/docker/docker.h"
#include "tls/tls_context.h"

#define DOCKER_CALL_BODY_MAX (8u << 20)
#define DOCKER_CALL_VERSION  "/v1.41"

/* The engine's address, as DOCKER_HOST and related variables define it. */
struct docker_call_host {
    char *unix_path;                /* or NULL */
    char *base_url;                 /* "http://…" or "https://…" without a path, or NULL */
    char *ca, *cert, *key;          /* files, or NULL */
    struct tls_context_trust trust; /* borrows them */
    char *name;                     /* as the operator set it, for messages */
};
int docker_call_host_parse(const char *host, bool is_tls, const struct docker_tls *tls, struct docker_call_host *ret,
                           struct err *err);
void docker_call_host_done(struct docker_call_host *h);

struct docker_call;
/* All calls under way, so that they can be cancelled together. */
struct docker_call_set {
    struct loop *loop;
    const struct docker_call_host *host;
    struct docker_call *first;
};

/* err NULL: status 2xx or 304, body NULL when there is none. Anything else: err, as docker_messages_error() sets it.
 * Called once, never from inside docker_call_start(). */
typedef void docker_call_fn(void *arg, json_t *body, const struct err *err);
/* Each complete line of the response as it arrives, without its newline (progress of a pull). */
typedef void docker_call_line_fn(void *arg, const char *line, size_t len);

struct docker_call_request {
    const char *method, *path;     /* path: after the version, with its query */
    const json_t *body;            /* borrowed, or NULL */
    const int *tar_fd;             /* instead of body: the read end of a pipe that yields a tar; taken over. Or NULL */
    const char *what;              /* for messages: "create container sbx_…" */
    int64_t timeout_ms;            /* 0: 60 s; less than 0: none */
    docker_call_line_fn *on_line;  /* then fn's body is NULL */
    docker_call_line_fn *on_bytes; /* the raw response as it arrives; fn's body is NULL then */
};
struct docker_call *docker_call_start(struct docker_call_set *set, const struct docker_call_request *req,
                                      docker_call_fn *fn, void *arg);
void docker_call_cancel(struct docker_call *c);             /* fn is not called */
void docker_call_hold(struct docker_call *c, bool is_held); /* stop and resume reading the answer */
/* The call continues, but nobody waits for its response: fn is not called. Returns NULL. */
struct docker_call *docker_call_let_go(struct docker_call *c);
/* Cancels every call; their functions get an error and free their arguments. They must not call anyone above the
 * driver, who may be gone. */
void docker_call_end_all(struct docker_call_set *set);
bool docker_call_is_over(const struct err *err);

/* Appends text with percent-encoding for a query. */
void docker_call_escape(struct buf *out, const char *text);
