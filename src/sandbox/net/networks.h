/* Networks that connect chosen sandboxes: members reach each other by address and by name, nothing else. Members keep
 * their address for as long as they are connected, over restarts too. May include: base/, store/, runtime/, sandbox/.
 */
#pragma once
#include "base/err.h"
#include "base/json.h"
#include "sandbox/lifecycle/sandbox.h"
#include "sandbox/lifecycle/tenant.h"

struct networks;

int networks_new(struct manager *m, struct networks **ret, struct err *err);
struct networks *networks_free(struct networks *n);

/* The driver has lost all networks: makes those of s again and connects it. */
void networks_rejoin(struct networks *n, struct sandbox *s);
const char *networks_owner(const struct networks *n, const char *id);  /* "": no owner; NULL: no such network */
json_t *networks_list(struct networks *n, const struct tenant_by *by); /* array of SandboxNetwork; caller owns */

typedef void networks_record_fn(void *arg, json_t *record, const struct err *err); /* borrowed; NULL with err */
typedef void networks_done_fn(void *arg, const struct err *err);                   /* err NULL: done */
/* ERR_CONFLICT for a name that is taken, ERR_CAPACITY at settings.max_networks, ERR_UNSUPPORTED from the driver. */
void networks_create(struct networks *n, const struct tenant_by *by, const char *name, networks_record_fn *fn,
                     void *arg);
/* ERR_CONFLICT when it is a member already (or is none); ERR_CAPACITY at settings.max_network_members. done may come
 * before the call returns. */
void networks_connect(struct networks *n, const char *id, struct sandbox *s, networks_done_fn *fn, void *arg);
void networks_disconnect(struct networks *n, const char *id, struct sandbox *s, networks_done_fn *fn, void *arg);
void networks_delete(struct networks *n, const char *id, networks_done_fn *fn, void *arg);
