/* JSON Web Keys (RFC 7517) and signatures made with them (RFC 7518, 8037): the public keys of an OpenID Connect issuer.
 * Untrusted: the document (an issuer's answer), and everything that is verified. May include: base/.
 *
 * Invariants: (1) only asymmetric keys become part of a set, so that no public key is ever taken as a shared secret;
 * (2) a key verifies only algorithms of its own type and, for elliptic curves, of its own curve; (3) a set is bounded.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/err.h"

#define JWKS_BYTES_MAX (256u << 10)
#define JWKS_KEYS_MAX  64
#define JWKS_ALGS      "RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, EdDSA"

struct jwks;
struct jwks_key;
struct jwks_alg;

/* Keys of other types, for other uses, too small or too large are left out. ERR_INVALID: not a key set, or no key of it
 * can be used. */
int jwks_parse(const char *text, size_t len, struct jwks **ret, struct err *err);
struct jwks *jwks_free(struct jwks *s); /* NULL is fine; returns NULL */
DEFINE_CLEANUP(struct jwks *, jwks_free)
size_t jwks_count(const struct jwks *s);

const struct jwks_alg *jwks_alg(const char *name); /* NULL: unknown, or not one of JWKS_ALGS */
/* The key of this id that verifies alg; kid NULL: the only key that does. NULL: there is none, or (without kid)
 * several. Borrowed. */
const struct jwks_key *jwks_find(const struct jwks *s, const char *kid, const struct jwks_alg *alg);
const char *jwks_key_digest(const struct jwks_key *k); /* SHA-256 of the public key, in hex: the same key in any set */
bool jwks_has(const struct jwks *s, const char *digest);

struct jwks_signed {
    const char *data;
    size_t len;
    const char *signature; /* raw bytes */
    size_t signature_len;
};
bool jwks_verify(const struct jwks_key *k, const struct jwks_alg *alg, const struct jwks_signed *what);
