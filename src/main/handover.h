/* One server takes over from another on the same data folder (`iii serve --takeover`). The messages:
 *
 *   new                         old
 *   ASK, what it supports    →
 *                            ←  OFFER, what it runs; or NO with the reason
 *   (checks everything it can)
 *   GO                       →  stops accepting, lets requests finish, leaves the sandboxes, closes the state
 *                            ←  the lock, the listeners, idle connections (os/inherit.h)
 *   starts on them
 *   DONE                     →  exits; without it (the socket closes) it opens everything again and continues
 *
 * Before GO nothing has changed for anyone. Only the same user or root may ask. May include: base/, os/, store/,
 * guest/.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/settings.h"
#include "os/inherit.h"

#define HANDOVER_VERSION 1u
#define HANDOVER_SOCKET  "takeover.sock"

enum handover_type { HANDOVER_ASK = 1, HANDOVER_OFFER, HANDOVER_NO, HANDOVER_GO, HANDOVER_DONE };

struct handover_note {
    uint32_t magic, version; /* HANDOVER_VERSION */
    uint32_t type;
    uint32_t agent_oldest; /* OFFER: version of the oldest running agent; 0: none runs */
    uint32_t sandboxes;    /* OFFER */
    uint32_t schema;       /* of the state: ASK the newest it can read, OFFER the current one */
    char program[32];      /* version of the program, for messages */
    char text[256];        /* NO: reason */
};

/* Fills in the members that all messages share. */
struct handover_note handover_note(enum handover_type type);
int handover_send(int conn, const struct handover_note *note, struct err *err);
/* -EAGAIN on a non-blocking socket, -EPIPE at end of file; err is set for all other errors. Texts are
 * NUL-terminated. */
int handover_receive(int conn, struct handover_note *ret, struct err *err);
/* The socket's address for bind and connect, whatever the length of the folder's path. dir_fd is open on it. */
struct sockaddr_un;
socklen_t handover_address(const char *dir, int dir_fd, struct sockaddr_un *ret);

/* --- the new server --- */

/* Checks everything that can be checked without changing it, then takes over. *ret_conn is NO_FD when no server runs on
 * dir (then this is a normal start), otherwise the connection to the old server, which waits for handover_ready(). From
 * success on the process has a minute to become ready; then the kernel kills it, and the old server continues. */
int handover_begin(const struct settings *s, const char *dir, struct inherit *to, int *ret_conn, struct err *err);
void handover_ready(int *conn); /* tells the old server to exit; closes */

/* --- the old server --- */

/* Hands over and waits for the new server. True: it is ready. False: it has exited, and everything is still ours. */
bool handover_finish(int conn, const struct inherit *what, struct err *err);
