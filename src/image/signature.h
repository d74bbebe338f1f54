/* Signatures of images: whether a piece of evidence proves that somebody the policy names has signed a digest. All of
 * it is offline: the evidence is what a registry has beside the image, and the record of a stored image keeps the
 * evidence that was accepted. Untrusted: the evidence. Pure. May include: base/, tls/, image/.
 *
 * Evidence is one of
 *   {payload, signature, certificate, chain, bundle}   what cosign keeps as a layer of the tag sha256-<digest>.sig:
 *       payload and signature in base64; the rest only of keyless signatures, bundle as cosign writes it
 *   {sigstore: {…}}                                    a Sigstore bundle, version 0.3, with a DSSE envelope
 * A rule is an entry of the policy's "signatures": {images, keys, keyless: [{identity, issuer, roots, logs}]}. */
#pragma once
#include <stddef.h>

#include "base/err.h"
#include "base/json.h"

#define SIGNATURE_PAYLOAD_MAX  (64 << 10)
#define SIGNATURE_EVIDENCE_MAX (256 << 10) /* as JSON */
#define SIGNATURE_BY           256

/* Whether a rule can be used: its keys, roots and logs are read. ERR_INVALID names the member. */
int signature_rule_check(const json_t *rule, struct err *err);
/* digests: an array of "sha256:…", any of which may be what was signed. ret_by: who has signed, for people. The reason
 * is in err (ERR_FORBIDDEN). */
int signature_check(const json_t *rule, const json_t *digests, const json_t *evidence, char ret_by[SIGNATURE_BY],
                    struct err *err);
/* What a rule asks for: "a signature by one of 2 keys or 1 identity". */
void signature_wanted(const json_t *rule, char ret[SIGNATURE_BY]);
