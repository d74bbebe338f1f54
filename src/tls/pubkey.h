/* Public keys and the signatures that they verify: ECDSA (P-256, P-384, P-521) and RSA (PKCS #1 v1.5, 2048 bits or
 * more) over SHA-256, and Ed25519. Blocks for the time of the arithmetic only. Untrusted: signatures and, where a
 * certificate brings it, the key. May include: base/. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/err.h"

struct pubkey;

/* From "-----BEGIN PUBLIC KEY-----". ERR_INVALID: not one key of a kind above. */
int pubkey_new(const char *pem, struct pubkey **ret, struct err *err);
struct pubkey *pubkey_free(struct pubkey *k);
DEFINE_CLEANUP(struct pubkey *, pubkey_free)
bool pubkey_verifies(const struct pubkey *k, const void *data, size_t len, const void *signature, size_t signature_len);
void pubkey_id(const struct pubkey *k, char ret[DIGEST_HEX]); /* SHA-256 of its DER form, as logs name their keys */

/* For codesign_cert.c. Takes over the EVP_PKEY, also on failure. */
int pubkey_take(void *evp_pkey, struct pubkey **ret, struct err *err);
