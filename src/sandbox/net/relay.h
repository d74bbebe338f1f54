/* One connected socket joined to one tunnel into a sandbox: bytes both ways, half-closes kept, and neither side can
 * make us buffer more than a window. Untrusted: both sides. May include: base/, loop/, http/, guest/. */
#pragma once
#include <stdint.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "guest/link.h"
#include "loop/loop.h"

struct relay;

/* Both sides have ended, or one broke. The receiver frees r. Never from inside a call below. */
typedef void relay_done_fn(void *arg, struct relay *r);

/* Takes fd (non-blocking); when it fails, fd stays the caller's. */
int relay_new(struct loop *l, int fd, relay_done_fn *done, void *arg, struct relay **ret);
struct relay *relay_free(struct relay *r); /* cuts both sides; no callback */
DEFINE_CLEANUP(struct relay *, relay_free)

/* Then one of these. Open: a new connection to the port inside; one that nobody accepts resets the socket. */
int relay_open(struct relay *r, struct guest_link *g, uint16_t port);
/* Join: a tunnel that already carries something, with bytes that were read ahead for either side. Takes the tunnel,
 * also on failure. */
int relay_join(struct relay *r, struct guest_tunnel *t, const struct buf *to_client, const struct buf *to_guest);
