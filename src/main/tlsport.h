/* TLS on the ports of `iii serve`: which settings turn it on, and where connections that come through the door go. */
#pragma once
#include "base/settings.h"
#include "http/server.h"
#include "main/engine_port.h"
#include "os/inherit.h"

struct keeper;
struct tlsport;

bool tlsport_is_wanted(const struct settings *s);
/* Starts the door; the files are read now. Nothing is accepted yet. */
int tlsport_new(struct loop *l, const struct settings *s, struct keeper *keeper, struct tlsport **ret, struct err *err);
void tlsport_reload(struct tlsport *t); /* reads them again; connections stay */
/* inherited: what a former server left, or NULL. */
int tlsport_listen(struct tlsport *t, struct http_server *rest, struct engine_port *engine, struct inherit *inherited,
                   uint16_t ret_ports[2], struct err *err);
void tlsport_leave(struct tlsport *t, struct inherit *to); /* the listeners for the next server, and stops */
void tlsport_stop(struct tlsport *t);                      /* accepts no more */
struct tlsport *tlsport_free(struct tlsport *t);
