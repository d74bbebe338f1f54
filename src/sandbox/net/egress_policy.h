/* What a sandbox may connect to: rules by address, port and name, the first that matches decides. Pure. Some ranges are
 * closed whatever the rules say; private ones are opened only by a rule that names a part of them. May include: base/.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/json.h"
#include "base/limits.h"

#define EGRESS_POLICY_RULES LIMIT_MAX(EGRESS_RULES)
#define EGRESS_POLICY_PORTS LIMIT_MAX(EGRESS_PORTS)
#define EGRESS_POLICY_NAME  (LIMIT_MAX(DOMAIN_BYTES) + 1) /* with its NUL */

struct egress_policy;

/* {default?: "allow"|"deny", rules?: [{action, cidr?, domain?, ports?}]}; NULL is {}. ERR_INVALID names rule and field.
 */
int egress_policy_new(const json_t *json, struct egress_policy **ret, struct err *err);
struct egress_policy *egress_policy_free(struct egress_policy *p);
DEFINE_CLEANUP(struct egress_policy *, egress_policy_free)
const json_t *egress_policy_json(const struct egress_policy *p); /* normal form; borrowed */

/* A connection: IPv4 address in host order, and the names (lower case) that the sandbox knows it by. */
struct egress_policy_target {
    uint32_t address;
    uint16_t port;
    const char *const *names;
    size_t n_names;
};
enum egress_policy_verdict {
    EGRESS_POLICY_DENY,
    EGRESS_POLICY_ALLOW,
    EGRESS_POLICY_NAMED, /* allowed because of its name only */
};
enum egress_policy_verdict egress_policy_judge(const struct egress_policy *p, const struct egress_policy_target *t);
/* Whether a name may be looked up at all. Under "deny" only names that a rule allows: a query carries data out, too. */
bool egress_policy_may_resolve(const struct egress_policy *p, const char *name);
