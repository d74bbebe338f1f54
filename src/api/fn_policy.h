/* What the operator lets the sandbox:: functions do: the image catalogue, its allowlist and caps. May include: base/.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/json.h"
#include "base/settings.h"

struct fn_policy {
    const struct settings *settings;
    json_t *custom;  /* {name: reference} */
    json_t *caps;    /* {name: {max_cpus, max_memory_mb}}, a missing number is no cap */
    json_t *allowed; /* {name: true} */
};

/* ERR_INVALID: an entry is malformed, or shadows a preset. */
int fn_policy_init(struct fn_policy *p, const struct settings *s, struct err *err);
void fn_policy_done(struct fn_policy *p);
/* The reference of a name of the catalogue; NULL when it has none. Borrowed. */
const char *fn_policy_reference(const struct fn_policy *p, const char *name);
bool fn_policy_is_preset(const char *name);
bool fn_policy_allows(const struct fn_policy *p, const char *name);
int64_t fn_policy_cap(const struct fn_policy *p, const char *name, const char *what, int64_t fallback);
json_t *fn_policy_catalogue(const struct fn_policy *p); /* [{name, oci_ref, kind, allowed}]; caller owns */
