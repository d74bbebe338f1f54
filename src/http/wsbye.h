/* WebSockets of which only the closing handshake is left: their owner has forgotten them, and they go when the peer has
 * answered, after 3 s, or with this object. May include: base/, http/. */
#pragma once
#include <stddef.h>

#include "base/cleanup.h"
#include "http/ws.h"

struct wsbye;

struct wsbye *wsbye_new(void);
struct wsbye *wsbye_free(struct wsbye *b); /* cuts those that are left */
DEFINE_CLEANUP(struct wsbye *, wsbye_free)
void wsbye_add(struct wsbye *b, struct ws *w, int code, const char *reason); /* takes w; its events come no more */
size_t wsbye_count(const struct wsbye *b);
