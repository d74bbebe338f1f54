/* Repeated requests with the same Idempotency-Key: the call is carried out once, and everyone who asks within 24 hours
 * gets its answer. Knows keys and answers, not HTTP. Untrusted: the key. May include: base/, store/. Invariants: (1) an
 * answer is in the store before it is sent; (2) what is kept is bounded in number, size and age, with a share for each
 * tenant; (3) a key stands for one request: another one under it is refused; (4) a key that was accepted is kept for
 * its time: at the limit new ones are refused. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/json.h"
#include "store/store.h"

#define IDEMPOTENCY_KEY_MAX 255
#define IDEMPOTENCY_ANSWER_MAX                                                             \
    (256 * 1024) /* bytes of a body; a larger one is not kept, and a repetition is told so \
                  */
#define IDEMPOTENCY_BYTES_MAX (256 * 1024 * 1024) /* of all bodies that are kept */
#define IDEMPOTENCY_AGE_MS    (24LL * 60 * 60 * 1000)

struct idempotency;
struct idempotency_claim; /* a key whose first call is running */

struct idempotency *idempotency_new(struct store *store, int64_t keep);
struct idempotency *idempotency_free(struct idempotency *i);

struct idempotency_request {
    const char *key, *function;
    const char *tenant; /* every tenant has keys of its own; "": none */
    const json_t *params;
    int64_t now_ms; /* the wall clock */
    /* Gets the answer when another call gives it: now, or when it is there. body is borrowed. */
    void (*fn)(void *arg, int status, json_t *body);
    void *arg;
};
/* 0 with *ret set: the first of its kind, carry it out and settle the claim. 0 with *ret NULL: fn gets the answer of
 * the first. -EINVAL: no good key; -EEXIST: the key stands for another request; -EBUSY: no room for another key. */
int idempotency_begin(struct idempotency *i, const struct idempotency_request *rq, struct idempotency_claim **ret,
                      struct err *err);
void idempotency_leave(struct idempotency *i, void *arg); /* one who waits does so no more */
/* The answer of the first call; those who wait get it too. Successes and timeouts are kept, for they have done
 * something; after other failures the key is free again. The claim is gone afterwards. */
void idempotency_settle(struct idempotency_claim *c, int status, json_t *body, int64_t now_ms);
void idempotency_sweep(struct idempotency *i, int64_t now_ms); /* drops answers that are too old */
