/* Token bucket: so many requests a minute, and a burst at once. May include: base/.
 * Invariant: credit never exceeds one burst, however long the client was idle. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/err.h"

struct bucket;

/* 0: *ret is a full new bucket the caller owns. -EINVAL: *ret untouched, err says why. */
int bucket_new(uint32_t per_minute, uint32_t burst, struct bucket **ret, struct err *err);
struct bucket *bucket_free(struct bucket *b); /* NULL is fine; returns NULL */
DEFINE_CLEANUP(struct bucket *, bucket_free)

/* Take one token if there is one. now_us comes from the caller, so tests own time. */
bool bucket_take(struct bucket *b, uint64_t now_us);
uint64_t
bucket_wait_us(const struct bucket *b); /* from the last bucket_take() until the next token; 0 when there is one */
uint64_t bucket_last_us(const struct bucket *b); /* when it was last asked */
