/* A verified client certificate as text, which the TLS listener hands over with a connection: a line with the end of
 * its validity (ms since the epoch) and its SHA-256, then a line for each of its names: "subject:CN=ci,O=acme" (RFC
 * 2253), "CN:ci" if it has exactly one, "URI:…", "DNS:…", "email:…". Names with control characters or other bytes than
 * ASCII, and those that no longer fit, are left out: nothing matches them. May include: base/. */
#pragma once
#include <openssl/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/digest.h"

enum { TLS_PEER_MAX = 2048 }; /* bytes with the NUL */

/* "" when the peer has shown no certificate. */
void tls_peer_describe(const SSL *ssl, char out[TLS_PEER_MAX]);

/* --- reading it: pure --- */
/* The first line; false: not such a text. *ret_names is the rest. */
bool tls_peer_parse(const char *text, int64_t *ret_until_ms, char ret_digest[DIGEST_HEX], const char **ret_names);
/* Walks the names: *at advances; false at the end. Not NUL-terminated. */
bool tls_peer_next(const char **at, const char **ret_name, size_t *ret_len);
