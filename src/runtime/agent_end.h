/* The agent's end of a link, for a driver that stands in for an agent: frames over a socket pair. Untrusted: nothing,
 * the other end is our own code; a violation of the protocol is a bug and ends the link. May include: base/, loop/,
 * guest/proto.h. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "guest/proto.h"
#include "loop/loop.h"

/* One checked frame of the host, its parts joined. */
typedef void agent_end_fn(void *arg, const struct proto_header *h, struct proto_reader *in);

struct agent_end {
    int fd;
    struct watch *watch;
    struct buf in, out, request; /* request: the joined payloads of one */
    bool is_frozen;              /* reads nothing */
    agent_end_fn *fn;
    void *arg;
};

/* Sends the handshake. ret_fd: the host's end, the receiver's. On failure there is nothing to close. */
int agent_end_open(struct agent_end *e, struct loop *l, agent_end_fn *fn, void *arg, int *ret_fd, struct err *err);
void agent_end_close(struct agent_end *e); /* the host sees the end; fine for one that was not opened, all zeroes */
void agent_end_freeze(struct agent_end *e, bool is_frozen);
void agent_end_shut(struct agent_end *e); /* the host sees the end, and frees us next */

void agent_end_send(struct agent_end *e, struct proto_writer *w, uint32_t stream, uint16_t type);
void agent_end_send_done(struct agent_end *e, uint32_t stream);
void agent_end_send_error(struct agent_end *e, uint32_t stream, int sys, const char *text);
void agent_end_send_number(struct agent_end *e, uint32_t stream, uint16_t type, uint32_t number);
