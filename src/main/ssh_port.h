/* SSH on `iii serve`: which settings enable it, and where connections from the SSH listener go. */
#pragma once
#include "api/api.h"
#include "base/settings.h"
#include "http/server.h"

struct inherit;
struct keeper;
struct ssh_port;

/* "2222", "0.0.0.0:2222", "[::]:2222" of --ssh. -EINVAL: not that. */
int ssh_port_parse(const struct settings *s, char host[64], uint16_t *ret_port, struct err *err);
/* Starts the SSH listener. Nothing is accepted yet. *ret is NULL when SSH is off. */
int ssh_port_new(struct loop *l, struct api *api, struct http_server *rest, const struct settings *s,
                 struct keeper *keeper, struct ssh_port **ret, struct err *err);
/* inherited: from a predecessor, or bound early; or NULL. p NULL: nothing. */
int ssh_port_listen(struct ssh_port *p, struct inherit *inherited, uint16_t *ret_port, struct err *err);
void ssh_port_leave(struct ssh_port *p, struct inherit *to); /* gives the listening socket away, and stops */
void ssh_port_stop(struct ssh_port *p);                      /* accepts no more */
struct ssh_port *ssh_port_free(struct ssh_port *p);
