/* System calls that the filters of sandboxes denied: counted, and recorded as events and lines of the audit log. What
 * an agent says about its own sandbox is untrusted, and bounded for each sandbox and each tenant. May include: base/,
 * os/, guest/, sandbox/. */
#pragma once
#include "base/buf.h"
#include "sandbox/lifecycle/manager.h"

/* Event: {sandboxId, call, number, arch, error, program, pid, count, missed}. */
#define DENIED_CALLS_EVENT   "syscall.denied"
#define DENIED_CALLS_A_MIN   30  /* events of one sandbox, and as many at once */
#define DENIED_CALLS_TENANT  300 /* the same for all sandboxes of one tenant */
#define DENIED_CALLS_METRICS 512 /* names of calls that are counted one by one; the others are one, "other" */

struct denied_calls;

struct denied_calls *denied_calls_new(struct manager *m);
struct denied_calls *denied_calls_free(struct denied_calls *d);
/* From now on what the agent of s reports is recorded. Call it for each new link. */
void denied_calls_watch(struct denied_calls *d, struct sandbox *s);
uint64_t denied_calls_of(const struct denied_calls *d, const char *sandbox_id); /* denied since the server started */
/* fn gets what is recorded, borrowed, as the event has it. NULL: nobody. */
void denied_calls_on(struct denied_calls *d, void (*fn)(void *arg, json_t *what), void *arg);
/* Calls and how often they were denied since the start, for each name. */
void denied_calls_each(const struct denied_calls *d, void (*fn)(void *arg, const char *call, uint64_t count),
                       void *arg);
