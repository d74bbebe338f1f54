/* The key that signs the links of this server (previews, file URLs), and the links that work once. The key is in the
 * store; a new one ends every link. Untrusted: what is shown as a signature. May include: base/, sandbox/, store/. */
#pragma once
#include "base/digest.h"
#include "base/err.h"
#include "base/json.h"
#include "sandbox/lifecycle/sandbox.h"
#include "store/store.h"

struct link_key;

struct link_key *link_key_new(struct store *store);
struct link_key *link_key_free(struct link_key *k);
/* A new key: from now on every link and cookie made before is refused. On failure the old one stays. */
int link_key_rotate(struct link_key *k, struct err *err);

/* HMAC-SHA256 of a text, which begins with what the link is for. */
void link_key_sign(const struct link_key *k, const char *text, size_t len, char ret[DIGEST_HEX]);
bool link_key_signed(const struct link_key *k, const char *text, size_t len, const char *mac);

/* Links that work once are nonces in the sandbox's record, {NONCE: expiry in s}, at most LIMIT_MAX(ONCE_LINKS). */
void link_key_keep(json_t *links, const char *nonce, int64_t expiry_s); /* a newer one replaces the oldest */
/* False when it was used before, or when that cannot be written down. */
bool link_key_spend(struct sandbox *s, json_t *links, const char *nonce);
