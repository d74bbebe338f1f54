/* A short-lived certificate that binds a signing key to an identity (a Sigstore certificate authority's, "Fulcio"), and
 * its chain to configured roots. Untrusted: the certificate and the chain that come with it. May include: base/. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "tls/pubkey.h"

struct codesign_cert {
    struct pubkey *key;
    char **names; /* identities: e-mail addresses and URIs of its subject alternative name; NULL-terminated */
    char *issuer; /* who has authenticated that identity; "" when the certificate does not say it */
};
void codesign_cert_done(struct codesign_cert *c); /* for CLEANUP() too */

#define CODESIGN_CERT_MAX   (16 << 10) /* bytes of a certificate, DER */
#define CODESIGN_CERT_CHAIN 8          /* certificates of a chain */

/* The first certificate of a PEM text as DER, appended. -EINVAL: there is none. */
int codesign_cert_der(const char *pem, size_t len, struct buf *out);
/* Each must hold at least one certificate. */
int codesign_cert_roots_check(const char *roots_pem, struct err *err);
struct codesign_cert_trust {
    const char *chain_pem; /* came with it: intermediates; NULL or "": none */
    const char *roots_pem; /* configured, one or more; an intermediate counts as a root */
    int64_t at_s;          /* when the signature was made: all certificates must be valid then */
};
/* ERR_FORBIDDEN says why it is not accepted: not for code signing, another root, not valid at that time. */
int codesign_cert_check(const void *der, size_t len, const struct codesign_cert_trust *trust, struct codesign_cert *ret,
                        struct err *err);
