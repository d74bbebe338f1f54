/* The channels of one SSH connection: a session channel becomes a command (exec::attach), a direct-tcpip channel a
 * tunnel (port::tunnel). Data is moved by ssh_channels_pump(), never inside a callback of libssh. Untrusted: the
 * client; what a command prints. May include: base/, ssh/. Invariant: for each channel at most SSH_STREAM_FULL bytes
 * wait in either direction, besides libssh's own window of 1.25 MiB: a slow side stops the other. */
#pragma once
#include <poll.h>
#include <stdbool.h>

#include "ssh/ssh_library.h"
#include "ssh/ssh_stream.h"

enum { SSH_CHANNELS_MAX = 64, SSH_CHANNELS_ENV_MAX = 64, SSH_CHANNELS_ENV_BYTES = 32768 };

struct ssh_channels;

struct ssh_channels_place {
    struct ssh_stream_target server;
    const char *login; /* the user inside; "": the image's */
};

/* place stays the caller's, and may be filled in later: before the first channel. */
struct ssh_channels *ssh_channels_new(ssh_session session, const struct ssh_channels_place *place);
ssh_channel ssh_channels_accept(struct ssh_channels *set); /* a session channel; NULL: refused */
/* A direct-tcpip channel. Whether it was answered; false: refuse it. */
bool ssh_channels_forward(struct ssh_channels *set, ssh_message m);
void ssh_channels_pump(struct ssh_channels *set);           /* after each poll */
bool ssh_channels_has_work(const struct ssh_channels *set); /* pump again without waiting */
/* Fills p, up to SSH_CHANNELS_MAX entries; returns how many. */
unsigned ssh_channels_poll(const struct ssh_channels *set, struct pollfd *p);
