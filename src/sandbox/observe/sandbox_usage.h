/* What a sandbox uses: the backend's numbers, what went over the way out, and the agent's numbers where only that can
 * count (struct runtime_ops, counts_inside). Those are asked for, so a look shows them as they were when they came
 * last. May include: base/, guest/, runtime/. */
#pragma once
#include "runtime/runtime.h"
#include "sandbox/lifecycle/sandbox.h"

/* At once. -errno with err when the backend cannot tell. */
int sandbox_usage_get(struct sandbox *s, struct box_stats *ret, struct err *err);
/* Calls fn when the numbers are those of now, or the agent cannot be asked: paused, or on a backend that counts by
 * itself. May be from inside the call. */
void sandbox_usage_refresh(struct sandbox *s, loop_fn *fn, void *arg);
