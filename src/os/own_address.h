/* Whether an address is one of this host's own. May include: nothing. */
#pragma once
#include <stdbool.h>
#include <sys/socket.h>

/* True also when that cannot be found out. Makes a socket and sends nothing. */
bool own_address_is(const struct sockaddr *a);
