/* One SSH connection, in a process of its own: key exchange, login by public key, channels. Untrusted: the client. May
 * include: base/, ssh/. */
#pragma once
#include "ssh/ssh_library.h"

struct ssh_session_start {
    int fd;                        /* of the client */
    int control;                   /* the connection's socket to the server; blocking */
    ssh_bind bind;                 /* with the host key */
    volatile unsigned char *is_in; /* set once the client has logged in */
};

enum { SSH_SESSION_LOGIN_S = 30, SSH_SESSION_TRIES = 8 };

void ssh_session_serve(const struct ssh_session_start *start); /* until the client or the server ends it */
