/* What a sandbox uses: the backend's numbers, the bytes of the egress relay, and the agent's numbers where only the
 * agent can count (struct runtime_ops, counts_inside). The agent is asked asynchronously, so a reading shows its latest
 * answer. May include: base/, guest/, runtime/. */
#pragma once
#include "runtime/runtime.h"
#include "sandbox/lifecycle/sandbox.h"

/* At once. -errno with err when the backend cannot tell. */
int sandbox_usage_get(struct sandbox *s, struct box_stats *ret, struct err *err);
/* Calls fn when the numbers are those of now, or the agent cannot be asked: paused, or on a backend that does all the
 * counting. May be from inside the call. */
void sandbox_usage_refresh(struct sandbox *s, loop_fn *fn, void *arg);
