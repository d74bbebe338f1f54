/* Webhooks: events to URLs. A webhook is a record with a URL, patterns of topics, and perhaps one sandbox or pairs of
 * metadata; it gets the events of its tenant, one without a tenant those of all. Its secret is in the reply that makes
 * it and in no other. May include: base/, loop/, store/, sandbox/. */
#pragma once
#include "base/err.h"
#include "base/json.h"
#include "sandbox/lifecycle/manager.h"
#include "sandbox/observe/webhook_queue.h"

struct webhooks;

/* Reads the records and the messages that wait; nothing is sent before webhooks_start(). */
int webhooks_new(struct manager *m, struct webhooks **ret, struct err *err);
struct webhooks *webhooks_free(struct webhooks *w);
void webhooks_start(struct webhooks *w, const struct tls_context_trust *trust); /* outlives w */

/* Of wish: url, events, sandboxId, metadata, description, enabled. Replies are owned by the caller; NULL with err:
 * ERR_INVALID and ERR_FORBIDDEN for a URL, ERR_CAPACITY, ERR_RATE_LIMITED for a quota, ERR_NOT_FOUND. */
json_t *webhooks_create(struct webhooks *w, const struct tenant_by *by, const json_t *wish, struct err *err);
json_t *webhooks_update(struct webhooks *w, const char *id, const json_t *wish, struct err *err);
json_t *webhooks_get(struct webhooks *w, const char *id, struct err *err);
json_t *webhooks_list(struct webhooks *w, const struct tenant_by *by, const char *sandbox_id); /* NULL: any */
int webhooks_delete(struct webhooks *w, const char *id, struct err *err);
/* A new secret; the one before also signs for overlap_s more. */
json_t *webhooks_rotate(struct webhooks *w, const char *id, int64_t overlap_s, struct err *err);

/* One message now, outside the queue. */
struct webhooks_test;
int webhooks_test(struct webhooks *w, const char *id, webhook_send_fn *fn, void *arg, struct webhooks_test **ret,
                  struct err *err);
void webhooks_test_cancel(struct webhooks_test *t); /* fn is not called */

json_t *webhooks_deliveries(struct webhooks *w, const char *id, const struct webhook_queue_query *what,
                            struct err *err);
int webhooks_retry(struct webhooks *w, const char *id, const char *delivery_id, struct err *err);
int64_t webhooks_purge(struct webhooks *w, const char *id, const struct webhook_queue_query *what, struct err *err);

/* "": no owner; NULL: no such webhook. ret_sandbox: the only one whose events it gets, or NULL. */
const char *webhooks_owner(const struct webhooks *w, const char *id, const char **ret_sandbox);
size_t webhooks_count(const struct webhooks *w, const char *tenant);
struct webhook_queue_counts webhooks_counts(const struct webhooks *w);
