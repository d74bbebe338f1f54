/* The engine inside `iii serve`: its port, the functions of this server, and the engine it may be a worker of. */
#pragma once
#include <stdint.h>

#include "api/api.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/settings.h"
#include "os/inherit.h"
#include "sandbox/lifecycle/manager.h"

struct engine_port;

int engine_port_new(struct manager *m, struct api *a, struct keyring *keys, struct engine_port **ret, struct err *err);
/* inherited: from a predecessor, or NULL. */
int engine_port_listen(struct engine_port *p, struct inherit *inherited, uint16_t *ret_port, struct err *err);
/* The further ports of the configuration (iii-stream, iii-worker-manager); the same with and without TLS. */
int engine_port_listen_more(struct engine_port *p, struct inherit *inherited, struct err *err);
void engine_port_list(const struct engine_port *p, struct buf *to); /* appends ",PORT" for each further port */
void engine_port_leave(struct engine_port *p,
                       struct inherit *to); /* gives away the listener and idle connections, before the stop */
/* A connection that was accepted elsewhere; as http_server_give(). */
void engine_port_give(struct engine_port *p, int fd, const char *peer, const char *cert);
int engine_port_reload(struct engine_port *p, const struct settings *s, struct err *err); /* fn_reload() */
void engine_port_stop(struct engine_port *p);                /* notifies workers; accepts nothing new */
void engine_port_close(struct engine_port *p);               /* before the api and the manager are freed */
struct engine_port *engine_port_free(struct engine_port *p); /* after them: they may answer calls until then */
