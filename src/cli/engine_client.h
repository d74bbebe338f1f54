/* A short-lived client of the engine: connects, calls functions, moves bytes through channels, waits. Untrusted: what
 * the engine sends. May include: base/, loop/, http/. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/json.h"
#include "http/url.h"
#include "http/ws.h"
#include "loop/loop.h"
#include "tls/tls_context.h"

struct wire;

struct wire_where {
    const char *host, *name; /* name: how the engine's list of workers shows this client */
    uint16_t port;
    int64_t patience_ms; /* how long to retry while nothing listens; 0: one attempt */
    bool is_secure;      /* with TLS; trust is borrowed until wire_close() */
    struct tls_context_trust trust;
    char host_room[URL_HOST_MAX]; /* storage of host when it was part of an address */
};

/* Connects, with the token of III_ENGINE_TOKEN or III_AUTH_TOKEN. -ETIMEDOUT nothing listens or replies, -ECONNREFUSED
 * refused (token); err says which and what to do. */
int wire_open(const struct wire_where *where, struct wire **ret, struct err *err);
struct wire *wire_close(struct wire *w);
DEFINE_CLEANUP(struct wire *, wire_close)
struct loop *wire_loop(struct wire *w);

/* A reply: result (NULL: none) or error {code, message, stacktrace?}. */
struct wire_answer {
    bool is_there;
    json_t *result, *error; /* owned */
};
void wire_answer_done(struct wire_answer *a);
/* Sends a call; the reply appears in *a, which must live until then or until wire_forget(). payload: borrowed. */
void wire_ask(struct wire *w, const char *function, const json_t *payload, const char *name_space,
              struct wire_answer *a);
void wire_forget(struct wire *w, struct wire_answer *a);

/* Runs the loop until *until is true. 0; -ETIMEDOUT; -ECONNRESET the engine closed (err says how); -EINTR after
 * wire_interrupt(). timeout_ms < 0: no limit. */
int wire_wait(struct wire *w, const bool *until, int64_t timeout_ms, struct err *err);
void wire_wake(struct wire *w);         /* makes wire_wait() check *until */
void wire_on_interrupt(struct wire *w); /* from now on SIGINT and SIGTERM end waits with -EINTR */
void wire_calm(struct wire *w);         /* clears an interrupt, so that further calls are possible */
/* wire_ask() and wire_wait() in one. */
int wire_call(struct wire *w, const char *function, const json_t *payload, int64_t timeout_ms, struct wire_answer *a,
              struct err *err);

/* Opens one end of a channel: ref as the engine returned it. */
int wire_channel(struct wire *w, const json_t *ref, const struct ws_events *events, void *arg, struct ws **ret,
                 struct err *err);
