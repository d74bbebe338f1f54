/* The server's side of its TLS door (tlsdoor.h): starts it, gives it the listening sockets, takes connections from it,
 * starts it again when it dies, and replaces it when the certificate is to be read anew. The server keeps the listening
 * sockets open all the time, so clients wait in their queue while a door starts. Untrusted: the door's messages.
 * May include: base/, os/, loop/, tls/. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "loop/loop.h"
#include "os/keeper.h"

struct doorkeep;

enum doorkeep_port { DOORKEEP_REST, DOORKEEP_ENGINE };

struct doorkeep_events {
    /* A connected plain stream, non-blocking, the callee's. peer: "127.0.0.1:4242". */
    void (*on_conn)(void *arg, enum doorkeep_port port, int fd, const char *peer);
    /* Something to log. what: "started", "reloaded", "died", "refused" (the new files; the old ones stay in use). */
    void (*on_note)(void *arg, bool is_bad, const char *what, const char *text);
    void *arg;
};

/* Who starts it: a job of the keeper, of which several may run, with the files as its arguments. */
struct doorkeep_start {
    struct keeper *keeper; /* borrowed */
    unsigned job;
    const char *cert; /* for words only; copied */
};

/* Starts a door and waits until it has read the files (at most 10 s): before the loop runs. */
int doorkeep_new(struct loop *l, const struct doorkeep_start *start, const struct doorkeep_events *events,
                 struct doorkeep **ret, struct err *err);
/* Owns fd, a listening socket. */
void doorkeep_listen(struct doorkeep *k, enum doorkeep_port port, int fd);
int doorkeep_lend(const struct doorkeep *k, enum doorkeep_port port); /* another descriptor of it; the caller's */
void doorkeep_reload(struct doorkeep *k); /* a new door takes over when its files are good; connections stay */
void doorkeep_retire(struct doorkeep *k); /* closes the listening sockets; connections stay */
struct doorkeep *doorkeep_free(struct doorkeep *k); /* waits for the doors to end, at most 3 s */
