/* The operator's bound on every egress policy (III_EGRESS_CEILING): what it denies, no policy of a sandbox allows. It
 * has rules for all and further ones for single tenants; all of them must allow a connection. Private ranges are closed
 * unless a rule of it opens them. Pure. May include: base/, sandbox/. */
#pragma once
#include "sandbox/net/egress_policy.h"

struct egress_ceiling;

/* text: {default, rules, tenants: {NAME: {default, rules}}}; "" is {}. ERR_INVALID names the place; members that are
 * not known are errors, because a rule that is read as a wider one would open something. */
int egress_ceiling_new(const char *text, struct egress_ceiling **ret, struct err *err);
struct egress_ceiling *egress_ceiling_free(struct egress_ceiling *c);
DEFINE_CLEANUP(struct egress_ceiling *, egress_ceiling_free)

/* What the policy, the ceiling and the tenant's part of it say together. */
enum egress_policy_verdict egress_ceiling_judge(const struct egress_ceiling *c, const char *tenant,
                                                const struct egress_policy *p, const struct egress_policy_target *t);
bool egress_ceiling_may_resolve(const struct egress_ceiling *c, const char *tenant, const struct egress_policy *p,
                                const char *name);
