/* The server's end of SSH connections: who may log in, and to which sandbox. A connection that was let in gets a
 * credential for that one sandbox, with which the listener's process makes ordinary HTTP requests (exec::attach,
 * port::tunnel) on streams that it hands over here. Untrusted: the listener's messages; what it says about signatures
 * is believed. May include: base/, http/, sandbox/, ssh/ssh_wire.h. Invariants: (1) a key, a user name and a sandbox
 * that do not go together are answered alike, whichever of them is unknown; (2) a connection ends with its key or its
 * token. */
#pragma once
#include <stdint.h>

#include "api/api_core.h"

#define SSH_ENTRY_MAX 1024 /* connections; the listener's own limit is lower */

struct ssh_entry;
struct http_server;

struct ssh_entry *ssh_entry_new(struct api *a, struct http_server *rest);
struct ssh_entry *ssh_entry_free(struct ssh_entry *e); /* ends all connections */
/* Owns fd, the server's end of the connection's socket. */
void ssh_entry_conn(struct ssh_entry *e, int fd, const char *peer);
void ssh_entry_listens(struct ssh_entry *e, const char *host, uint16_t port, const char *host_key);
json_t *ssh_entry_info(const struct ssh_entry *e);               /* SshInfo; e NULL: off. Caller owns */
void ssh_entry_end_key(struct ssh_entry *e, const char *key_id); /* it was deleted; e NULL is fine */
void ssh_entry_end_of(struct ssh_entry *e, const char *token_id);
