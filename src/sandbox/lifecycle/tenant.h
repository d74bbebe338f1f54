/* Ownership of objects by tenant, and how much each tenant uses. Records carry their tenant; "" means none: only
 * callers that see everything see such objects. May include: base/, sandbox/. */
#pragma once
#include <stdbool.h>

#include "base/err.h"
#include "base/json.h"
#include "base/quota.h"

#define TENANT_SHARED "*" /* of everyone: built-in templates */

struct manager;
struct sandbox;
struct tenants;

/* On whose behalf something is done. NULL wherever one is asked for: on the server's own. */
struct tenant_by {
    const char *tenant;  /* owns what is made; "": no owner */
    const char *view;    /* sees only the things of this tenant; NULL: all */
    const char *sandbox; /* and of those only this sandbox and what is of it; NULL: all */
    struct quota quota;
};

const char *tenant_of(const struct tenant_by *by); /* "" when by is NULL */
/* owner NULL: there is no such thing. sandbox: which one it is or is of; NULL: of none. */
bool tenant_sees_of(const struct tenant_by *by, const char *owner, const char *sandbox);
bool tenant_sees(const struct tenant_by *by, const char *owner); /* what is of no sandbox */
void tenant_mark(const struct tenant_by *by, json_t *record);    /* sets "tenant" unless it is "" */
bool tenant_sees_record(const struct tenant_by *by, const json_t *record);

struct tenants *tenant_set_new(void);
struct tenants *tenant_set_free(struct tenants *t);
/* A sandbox being created counts from the start until it is in the manager's map or has failed. */
void tenant_making(struct manager *m, const struct sandbox *s, int count);
enum tenant_event { TENANT_CREATED, TENANT_KILLED, TENANT_EXPIRED, TENANT_EVENTS };
void tenant_count(struct manager *m, const char *tenant, enum tenant_event what);
int64_t tenant_counted(struct manager *m, const char *tenant, enum tenant_event what);

double tenant_usage(struct manager *m, const char *tenant, enum quota_kind k);
json_t *tenant_usage_json(struct manager *m, const char *tenant); /* caller owns */
/* ERR_RATE_LIMITED when one more (of this memory, these CPUs) is past the quota. */
int tenant_check(struct manager *m, const struct tenant_by *by, enum quota_kind k, double more, struct err *err);
/* Before something is made that takes disk: ERR_RATE_LIMITED when the disk quota is used up. */
int tenant_check_disk(struct manager *m, const struct tenant_by *by, struct err *err);
int tenant_check_sandbox(struct manager *m, const struct tenant_by *by, const struct sandbox *s, struct err *err);
