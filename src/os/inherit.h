/* Descriptors that a server hands over to its successor: its lock, its listening sockets, idle connections. They go
 * through a SEQPACKET socket, so that no port is ever closed between the two. May include: base/. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/err.h"

enum inherit_role {
    INHERIT_LOCK,        /* of the data folder */
    INHERIT_REST,        /* listener */
    INHERIT_ENGINE,      /* listener */
    INHERIT_PORT,        /* exposed port: listener or datagram socket */
    INHERIT_REST_CONN,   /* a client between two requests */
    INHERIT_ENGINE_CONN, /* the same */
    INHERIT_SSH,         /* listener */
    INHERIT_ROLES
};

struct inherit;

struct inherit *inherit_new(void);
struct inherit *inherit_free(struct inherit *i); /* closes what nobody took */
DEFINE_CLEANUP(struct inherit *, inherit_free)
void inherit_add(struct inherit *i, enum inherit_role role, int fd); /* takes ownership of fd */
size_t inherit_count(const struct inherit *i, enum inherit_role role);
/* Removes the first of that role and returns it; the caller closes it. NO_FD when there is none. i may be NULL. */
int inherit_take(struct inherit *i, enum inherit_role role);
/* The same for one that is bound to the numeric host and port (0: any) and of that type (SOCK_STREAM, SOCK_DGRAM). */
int inherit_take_at(struct inherit *i, enum inherit_role role, const char *host, uint16_t port, int type);

uint16_t inherit_port(int fd); /* that a TCP or UDP socket is bound to; 0: none */

/* Sends all of it; on an error the other side has received a part. Blocks as the socket does. i keeps its own. */
int inherit_send(const struct inherit *i, int sock, struct err *err);
/* Receives what inherit_send() sent. Untrusted: roles and counts are checked. */
int inherit_receive(struct inherit *i, int sock, struct err *err);
