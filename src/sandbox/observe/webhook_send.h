/* One attempt to deliver a message to a webhook: a signed POST. Signatures follow the Standard Webhooks convention
 * (webhook-id, webhook-timestamp, webhook-signature). Untrusted: the URL, the address it leads to, and what is answered
 * there, of which only the status and Retry-After count. May include: base/, loop/, http/, sandbox/. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/json.h"
#include "base/settings.h"

struct manager;
struct tls_context_trust;
struct webhook_send;

#define WEBHOOK_SEND_SECRET_BYTES 32
#define WEBHOOK_SEND_SECRETS      2 /* valid at the same time */

struct webhook_send_outcome {
    bool is_delivered;      /* a status of 2xx */
    int status;             /* 0: there was no answer, and error says why */
    int64_t retry_after_ms; /* that the receiver asks for; 0: nothing */
    int64_t duration_ms;
    char error[160];
};
typedef void webhook_send_fn(void *arg, const struct webhook_send_outcome *o);

struct webhook_send_plan {
    struct manager *manager;
    const struct tls_context_trust *trust; /* outlives the attempt */
    const char *tenant;                    /* whose webhook it is; outlives the attempt */
    const char *url;
    const json_t
        *secrets;   /* [{key, until?}]: the message is signed with each that is valid; borrowed during the call */
    const char *id; /* the same for each attempt of a message */
    const char *body;
    size_t len;
};
/* fn is called once, not from inside. -EINVAL with err: nothing was started. */
int webhook_send_start(const struct webhook_send_plan *plan, webhook_send_fn *fn, void *arg, struct webhook_send **ret,
                       struct err *err);
struct webhook_send *webhook_send_free(struct webhook_send *s); /* cancels: fn is not called */

/* What the text of a URL tells: scheme, form, and an address that is not allowed. ERR_INVALID, ERR_FORBIDDEN. host: as
 * it counts for the number of concurrent attempts, of URL_HOST_MAX bytes. */
int webhook_send_check(const struct settings *s, const char *url, char *ret_host, struct err *err);
/* "whsec_…" */
#define WEBHOOK_SEND_KEY_MAX 64
void webhook_send_new_key(char ret[WEBHOOK_SEND_KEY_MAX]);
/* "v1,BASE64" of what is signed, "ID.SECONDS.BODY". -EINVAL: key is not one. */
#define WEBHOOK_SEND_SIGNATURE_MAX 64
int webhook_send_sign(const char *key, const char *id, int64_t at_s, const char *body, size_t len,
                      char ret[WEBHOOK_SEND_SIGNATURE_MAX]);
/* Retry-After as ms from now: seconds or a date; 0 when it is neither, at most WEBHOOK_SEND_WAIT_MAX_MS. */
#define WEBHOOK_SEND_WAIT_MAX_MS 86400000
int64_t webhook_send_wait(const char *retry_after, int64_t now_ms);
