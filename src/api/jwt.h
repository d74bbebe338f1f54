/* JSON Web Tokens (RFC 7519) in the compact form, signed by an issuer whose keys are known. Pure: no clock, no network.
 * Untrusted: every byte of a token until its signature is verified; after that the issuer vouches for its claims.
 * May include: base/, tls/jwks.h, api/identity.h.
 *
 * Invariants: (1) the algorithm is one of a fixed list of asymmetric ones and must fit the key: neither "none" nor a
 * shared secret verifies; (2) keys come only from the given set: jku, jwk, x5u and x5c of a header are not looked at;
 * (3) an error says what is wrong, without a byte of the token. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "api/identity.h"
#include "base/err.h"
#include "base/json.h"
#include "base/limits.h"
#include "tls/jwks.h"

#define JWT_BYTES_MAX LIMIT_MAX(JWT_BYTES)
#define JWT_LEEWAY_S  30 /* by which the clocks of issuer and server may differ, for nbf and iat */

struct jwt_rules {
    const char *issuer, *audience; /* iss is exactly this; aud is or has this */
};

struct jwt {
    json_t *claims;      /* owned */
    const char *subject; /* of the claims, 1 to IDENTITY_SUBJECT_MAX bytes */
    const char *key;     /* digest of the key that signed it; of the set */
    int64_t expires;     /* ms since the epoch, in the future */
    bool is_key_unknown; /* ERR_UNAUTHORIZED, because the set has no such key: a newer set may have it */
};
void jwt_done(struct jwt *t);

bool jwt_is_one(const char *token); /* by its form: no token of ours has a dot */
/* keys NULL: none are known. ERR_UNAUTHORIZED. */
int jwt_check(const char *token, const struct jwks *keys, const struct jwt_rules *rules, int64_t now_ms,
              struct jwt *ret, struct err *err);
/* A claim by its name, or by a path of names ("realm_access.roles") where no claim has that name. NULL: none. */
const json_t *jwt_claim(const json_t *claims, const char *name);
/* The text of a string without NUL, or NULL. */
const char *jwt_text(const json_t *value);
