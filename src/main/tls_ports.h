/* TLS on the ports of `iii serve`: which settings enable it, and where connections from the TLS listener go. */
#pragma once
#include "base/settings.h"
#include "http/server.h"
#include "main/engine_port.h"
#include "os/inherit.h"

struct keeper;
struct tls_ports;

bool tls_ports_is_wanted(const struct settings *s);
/* Starts the TLS listener; the files are read now. Nothing is accepted yet. */
int tls_ports_new(struct loop *l, const struct settings *s, struct keeper *keeper, struct tls_ports **ret,
                  struct err *err);
void tls_ports_reload(struct tls_ports *t); /* reads the files again; connections stay */
/* inherited: from a predecessor, or NULL. */
int tls_ports_listen(struct tls_ports *t, struct http_server *rest, struct engine_port *engine,
                     struct inherit *inherited, uint16_t ret_ports[2], struct err *err);
void tls_ports_leave(struct tls_ports *t,
                     struct inherit *to); /* gives the listening sockets to the next server, and stops */
void tls_ports_stop(struct tls_ports *t); /* accepts no more */
struct tls_ports *tls_ports_free(struct tls_ports *t);
