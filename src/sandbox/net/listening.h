/* The ports of each sandbox that listen inside, as its agent says, and events when they change. Untrusted: what the
 * agent says; its events are bounded for each sandbox and each tenant. May include: base/, guest/, sandbox/. */
#pragma once
#include "sandbox/lifecycle/manager.h"

/* Events: {sandboxId, port, address, pid, process}. */
#define LISTENING_OPENED   "port.listening"
#define LISTENING_CLOSED   "port.closed"
#define LISTENING_A_MIN    60  /* events of one sandbox, and as many at once */
#define LISTENING_A_TENANT 600 /* the same for all sandboxes of one tenant */

struct listening;

struct listening *listening_new(struct manager *m);
struct listening *listening_free(struct listening *l);
void listening_watch(struct sandbox *s); /* call it for each new link */
/* [{port, address, pid?, process?}] by port; borrowed, NULL: none. */
const json_t *listening_rows(const struct sandbox *s);
