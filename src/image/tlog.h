/* Entries of a transparency log (Rekor) that came with a signature: what they prove without asking the log. The log's
 * promise (signed entry timestamp) proves when it has seen the entry; an inclusion proof, where there is one, must hold
 * as well. Untrusted: the entry. Pure. May include: base/, tls/. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"

/* What the entry must be about. */
struct tlog_subject {
    const void *message; /* that was signed; of an envelope: its payload */
    size_t message_len;
    const struct buf *signature;
    const struct buf *certificate; /* DER */
};
/* bundle: cosign's {SignedEntryTimestamp, Payload: {body, integratedTime, logIndex, logID}}. logs: PEM texts, one of
 * which must be the log's key. 0: *ret_s is when the log has seen it. ERR_FORBIDDEN says what does not fit. */
int tlog_check_bundle(const json_t *bundle, const json_t *logs, const struct tlog_subject *subject, int64_t *ret_s,
                      struct err *err);
/* entry: an element of a Sigstore bundle's tlogEntries. */
int tlog_check_entry(const json_t *entry, const json_t *logs, const struct tlog_subject *subject, int64_t *ret_s,
                     struct err *err);
