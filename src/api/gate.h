/* Who may pass, and how often: bearer token and rate limits. Knows headers as texts, not HTTP, so tests need no server.
 * Untrusted: the Authorization header. Invariants: (1) tokens are compared in constant time or by their digest; (2)
 * rates are counted by digest or id; (3) the number of buckets is bounded. May include: base/, spec/, api/keyring.h. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "api/keyring.h"
#include "base/err.h"
#include "base/settings.h"
#include "spec/spec.h"

#define GATE_BUCKETS_MAX 4096 /* of each kind; past it the oldest is removed */
#define GATE_IDLE_US     300000000

struct gate;

struct gate *gate_new(const struct settings *s, struct keyring *k); /* both must outlive it */
struct gate *gate_free(struct gate *g);
DEFINE_CLEANUP(struct gate *, gate_free)

/* The token as presented: "Bearer x" and "x" are both x. NULL stays NULL. Borrowed. */
const char *gate_token(const char *authorization);
/* 0, -EACCES (401: no header) or -EPERM (403: wrong token). ret may be NULL; else *ret is a reference to who calls. */
int gate_auth(const struct gate *g, const char *authorization, struct caller **ret, struct err *err);
/* Before gate_auth(): 0, or -EAGAIN (429) when too many JWTs of this peer ("address:port") had to be verified, so that
 * invented ones cost no CPU. Those that are known cost nothing. */
#define GATE_VERIFIES_PM    3000 /* of one address */
#define GATE_VERIFIES_BURST 300
int gate_verify(struct gate *g, const char *authorization, const char *peer, uint64_t now_us, unsigned *ret_wait_s,
                struct err *err);
/* The requestsPerMinute of a caller's quota; -EAGAIN as below. */
int gate_rate_quota(struct gate *g, const struct caller *who, uint64_t now_us, unsigned *ret_wait_s, struct err *err);
/* 0, or -EAGAIN (429) with the whole seconds to wait in *ret_wait_s. By token, whichever way it was shown; where none
 * is asked for, by what was shown all the same. Requests without a token are not limited. */
int gate_rate(struct gate *g, const struct caller *who, const char *authorization, uint64_t now_us,
              unsigned *ret_wait_s, struct err *err);
/* The same for commands and file calls of one sandbox; other rows always pass. */
int gate_rate_sandbox(struct gate *g, const struct op *op, const char *sandbox_id, uint64_t now_us,
                      unsigned *ret_wait_s, struct err *err);
void gate_sweep(struct gate *g, uint64_t now_us); /* drops buckets that were idle for GATE_IDLE_US */
