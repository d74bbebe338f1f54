/* One server takes over from another on the same data folder (`iii serve --takeover`). The words between the two:
 *
 *   new                         old
 *   ASK, what it understands →
 *                            ←  OFFER, what it runs; or NO and why
 *   (checks everything it can)
 *   GO                       →  stops accepting, lets requests finish, leaves the sandboxes, closes the state
 *                            ←  the lock, the listeners, quiet connections (os/inherit.h)
 *   starts on them
 *   DONE                     →  exits; without it (the socket ends) it opens everything again and goes on
 *
 * Before GO nothing has changed for anyone. Only the same user or root may ask. May include: base/, os/, store/,
 * guest/.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "os/inherit.h"

#define HANDOVER_VERSION 1u
#define HANDOVER_SOCKET  "takeover.sock"

enum handover_type { HANDOVER_ASK = 1, HANDOVER_OFFER, HANDOVER_NO, HANDOVER_GO, HANDOVER_DONE };

struct handover_note {
    uint32_t magic, version; /* HANDOVER_VERSION */
    uint32_t type;
    uint32_t agent_oldest; /* OFFER: version that the oldest running agent speaks; 0: none runs */
    uint32_t sandboxes;    /* OFFER */
    uint32_t schema;       /* of the state: ASK the newest it can read, OFFER what there is */
    char program[32];      /* version of the program, for messages */
    char text[256];        /* NO: why */
};

/* Fills in what is the same in all of them. */
struct handover_note handover_note(enum handover_type type);
int handover_send(int conn, const struct handover_note *note, struct err *err);
/* -EAGAIN on a non-blocking socket, -EPIPE at its end; err is set for all others. Texts are ended. */
int handover_receive(int conn, struct handover_note *ret, struct err *err);
/* What stands against a takeover, before anything has changed: ERR_CONFLICT names both versions. */
int handover_check(const struct handover_note *offer, struct err *err);

/* The path of the socket for bind and connect, whatever the length of the folder's name. dir_fd is open on it. */
struct sockaddr_un;
socklen_t handover_address(const char *dir, int dir_fd, struct sockaddr_un *ret);

/* --- the new one --- */

/* Connects, asks, checks the offer. *ret_conn is NO_FD when no server runs there. */
int handover_ask(const char *dir, int *ret_conn, struct handover_note *ret_offer, struct err *err);
/* GO. 0: to is filled. 1: the old one ended without a word, its data folder is free. Waits at most wait_ms. */
int handover_go(int conn, int64_t wait_ms, struct inherit *to, struct err *err);

/* --- the old one --- */

/* Hands over and waits for the new one. True: it is ready. False: it is gone, and everything is ours as before. */
bool handover_finish(int conn, const struct inherit *what, struct err *err);
