/* The server's side of the SSH listener (ssh_listener.h): starts it, gives it the listening socket, receives
 * connections from it, and restarts it when it dies. The server keeps the listening socket, so clients wait in the
 * backlog while a listener starts. Untrusted: the listener's messages. May include: base/, os/, loop/, ssh/. */
#pragma once
#include <stdbool.h>

#include "base/err.h"
#include "loop/loop.h"
#include "os/keeper.h"

struct ssh_listener_client;

struct ssh_listener_client_events {
    /* One end of a connection's socket, non-blocking, owned by the callee. peer: "127.0.0.1:4242". */
    void (*on_conn)(void *arg, int fd, const char *peer);
    void (*on_note)(void *arg, bool is_bad, const char *what, const char *text); /* to log: "started", "died" */
    void *arg;
};

/* Starts a listener and waits until it has its key (at most 10 s): before the loop runs. job: of the keeper. */
int ssh_listener_client_new(struct loop *l, struct keeper *keeper, unsigned job,
                            const struct ssh_listener_client_events *events, struct ssh_listener_client **ret,
                            struct err *err);
void ssh_listener_client_listen(struct ssh_listener_client *k, int fd);              /* owns fd */
const char *ssh_listener_client_key(const struct ssh_listener_client *k);            /* fingerprint of the host key */
void ssh_listener_client_stop(struct ssh_listener_client *k);                        /* accepts no more; NULL is fine */
struct ssh_listener_client *ssh_listener_client_free(struct ssh_listener_client *k); /* waits for it, at most 4 s */
