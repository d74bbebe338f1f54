/* This process as a worker of another engine: registers its functions there, carries out calls, and reconnects with
 * growing pauses when the connection is lost. Untrusted: what the other engine sends. May include: base/, loop/, http/,
 * engine/. */
#pragma once
#include "engine/engine.h"

struct outside;

/* url: "ws://host:port", "wss://host:port". token may be NULL or "". -EINVAL for a bad URL. Functions added later are
 * not registered there before the next connection. */
int remote_engine_new(struct engine *e, const char *url, const char *token, struct outside **ret, struct err *err);
/* A client of another engine that offers no functions there: it calls remote_engine_invoke(), and fn gets what is
 * published there under topic (NULL: nothing is). data is borrowed. */
typedef void remote_engine_event_fn(struct engine *e, json_t *data);
int remote_engine_new_client(struct engine *e, const char *url, const char *topic, remote_engine_event_fn *fn,
                             struct outside **ret, struct err *err);
struct outside *remote_engine_free(struct outside *o);
bool remote_engine_is_connected(const struct outside *o); /* the handshake with the other engine is complete */
const char *remote_engine_url(const struct outside *o);   /* without a slash at the end */
/* Calls a function of the other engine. payload may be NULL. done runs once; also when the connection is lost. */
void remote_engine_invoke(struct outside *o, const char *function_id, json_t *payload, engine_done_fn *done, void *arg);
