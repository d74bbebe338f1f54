/* Finds the signatures of an image: in the registry beside it, or in a file beside its archive. Untrusted: all of it.
 * May include: base/, image/. */
#pragma once
#include "base/err.h"
#include "base/json.h"
#include "image/registry_client.h"

#define SIGNATURE_FETCH_MAX 32 /* signatures of one digest that are looked at */

/* Looks at the signatures of each of digests ("sha256:…") until rule accepts one; it is then in record: "signature"
 * (the evidence) and "signedBy". ERR_FORBIDDEN: none is accepted. Blocks. */
int signature_fetch(struct registry *r, const json_t *rule, const char *name, const json_t *digests, json_t *record,
                    struct err *err);
/* The same from path, a file of one JSON object in a line: what `cosign download signature` prints, or Sigstore
 * bundles. A file that does not exist has none. */
int signature_fetch_file(const char *path, const json_t *rule, const char *name, const json_t *digests, json_t *record,
                         struct err *err);
