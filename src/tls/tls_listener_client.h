/* The server's side of the TLS listener (tls_listener.h): starts it, gives it the listening sockets, receives
 * connections from it, restarts it when it dies, and replaces it when the certificate is to be read again. The server
 * keeps the listening sockets open all the time, so clients wait in the backlog while a listener starts. Untrusted: the
 * listener's messages. May include: base/, os/, loop/, tls/. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "loop/loop.h"
#include "os/keeper.h"

struct tls_listener_client;

enum tls_listener_client_port { TLS_LISTENER_CLIENT_REST, TLS_LISTENER_CLIENT_ENGINE };

struct tls_listener_client_events {
    /* A connected plain stream, non-blocking, owned by the callee. peer: "127.0.0.1:4242". cert: tls_peer_describe().
     */
    void (*on_conn)(void *arg, enum tls_listener_client_port port, int fd, const char *peer, const char *cert);
    /* An event to log. what: "started", "reloaded", "died", "refused" (the new files; the old ones stay in use). */
    void (*on_note)(void *arg, bool is_bad, const char *what, const char *text);
    void *arg;
};

/* How it is started: a job of the keeper, of which several may run, with the files as its arguments. */
struct tls_listener_client_start {
    struct keeper *keeper; /* borrowed */
    unsigned job;
    const char *cert; /* for messages only; copied */
};

/* Starts a listener and waits until it has read the files (at most 10 s): before the loop runs. */
int tls_listener_client_new(struct loop *l, const struct tls_listener_client_start *start,
                            const struct tls_listener_client_events *events, struct tls_listener_client **ret,
                            struct err *err);
/* Owns fd, a listening socket. */
void tls_listener_client_listen(struct tls_listener_client *k, enum tls_listener_client_port port, int fd);
int tls_listener_client_lend(const struct tls_listener_client *k,
                             enum tls_listener_client_port port); /* a duplicate descriptor; the caller's */
void tls_listener_client_reload(
    struct tls_listener_client *k); /* a new listener takes over once its files are valid; connections stay */
void tls_listener_client_retire(struct tls_listener_client *k); /* closes the listening sockets; connections stay */
struct tls_listener_client *
tls_listener_client_free(struct tls_listener_client *k); /* waits for the listeners to exit, at most 3 s */
