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

#define EGRESSPOLICY_RULES 256
#define EGRESSPOLICY_PORTS 32
#define EGRESSPOLICY_NAME  256 /* a domain name with its NUL */

struct egresspolicy;

/* {default?: "allow"|"deny", rules?: [{action, cidr?, domain?, ports?}]}; NULL is {}. ERR_INVALID names rule and field.
 */
int egresspolicy_new(const json_t *json, struct egresspolicy **ret, struct err *err);
struct egresspolicy *egresspolicy_free(struct egresspolicy *p);
DEFINE_CLEANUP(struct egresspolicy *, egresspolicy_free)
const json_t *egresspolicy_json(const struct egresspolicy *p); /* normal form; borrowed */

/* A connection: IPv4 address in host order, and the names (lower case) that the sandbox knows it by. */
struct egresspolicy_target {
    uint32_t address;
    uint16_t port;
    const char *const *names;
    size_t n_names;
};
enum egresspolicy_verdict {
    EGRESSPOLICY_DENY,
    EGRESSPOLICY_ALLOW,
    EGRESSPOLICY_NAMED, /* allowed because of its name only */
};
enum egresspolicy_verdict egresspolicy_judge(const struct egresspolicy *p, const struct egresspolicy_target *t);
/* Whether a name may be looked up at all. Under "deny" only names that a rule allows: a query carries data out, too. */
bool egresspolicy_may_resolve(const struct egresspolicy *p, const char *name);
