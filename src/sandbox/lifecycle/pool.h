/* Warm sandboxes kept ready for each profile (image, memory, cpu, network), so that a create only gives one a name.
 * Off unless III_POOL_SIZE is set. May include: base/, loop/, runtime/, guest/, sandbox/. */
#pragma once
#include <stdbool.h>

#include "base/err.h"
#include "base/json.h"
#include "sandbox/lifecycle/manager.h"

struct pool;

int pool_new(struct manager *m, struct pool **ret, struct err *err);
struct pool *pool_free(struct pool *p);
void pool_start(struct pool *p);         /* fill, and keep filled */
void pool_stop(struct pool *p);          /* ends all entries; those that are being made end when they arrive */
bool pool_is_idle(const struct pool *p); /* nothing is being made or ended */
/* Gives s a ready box when its profile fits and nothing about it is custom; fn gets it on the next turn. */
bool pool_take(struct pool *p, struct sandbox *s, box_ready_fn *fn, void *arg);
json_t *pool_status(struct pool *p); /* {total, ready, by_profile} */
