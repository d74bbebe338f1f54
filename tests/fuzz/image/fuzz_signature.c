/* Evidence of a signature (payload, certificate, transparency-log entry, Sigstore bundle) against a rule of the policy:
 * {rule, digests, evidence}. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "image/signature.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    JSON_OWNED doc = NULL;
    struct err err = ERR_INIT;
    char by[SIGNATURE_BY];
    if (json_read_input((const char *)data, size, &doc, NULL) < 0)
        return 0;
    const json_t *rule = json_get(doc, "rule"), *digests = json_get(doc, "digests");
    for (size_t i = 0; i < json_array_size(digests); i++)
        if (!json_is_string(json_array_get(digests, i))) /* ours, never anything else */
            return 0;
    if (signature_rule_check(rule, &err) < 0)
        return 0;
    signature_wanted(rule, by);
    /* Who is accepted is named; the same evidence proves nothing about another digest. */
    if (signature_check(rule, digests, json_get(doc, "evidence"), by, &err) == 0) {
        JSON_OWNED other = json_pack("[s]", "sha256:0000000000000000000000000000000000000000000000000000000000000000");
        if (!*by || (signature_check(rule, other, json_get(doc, "evidence"), by, &err) == 0 &&
                     !memmem(data, size, "0000000000000000", 16)))
            abort();
    }
    return 0;
}
