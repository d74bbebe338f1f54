/* The TLS listener: the process that holds the key. It accepts on the server's listening sockets, does the handshakes,
 * and passes the server a plain socket for each finished handshake (tls_wire.h), between which and the network it
 * copies from then on. It parses nothing but TLS. Untrusted: every peer. May include: base/, os/, loop/, tls/. */
#pragma once

/* `iii --tls-listener CERT KEY CLIENT_CA CLIENT_AUTH`: CLIENT_CA may be empty; CLIENT_AUTH is required or optional.
 * TLS_WIRE_FD is its socket to the server. */
int tls_listener_main(int argc, char **argv);
