/* What the operator lets the sandbox:: functions do: the image catalogue, its allowlist and caps. May include: base/.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/json.h"
#include "base/settings.h"

/* Never changed once it is made: when the operator's file changes there is a new one, and calls that began under this
 * one hold it until they end. */
struct fn_policy {
    unsigned refs;
    bool is_auto_install;
    int64_t idle_timeout_s, idle_scan_ms;
    int64_t max_sandboxes, max_execs, max_exec_ms; /* max_execs: at least 1 */
    int64_t default_cpus, default_memory_mb;
    json_t *custom;  /* {name: reference} */
    json_t *caps;    /* {name: {max_cpus, max_memory_mb}}, a missing number means unlimited */
    json_t *allowed; /* {name: true} */
};

/* From the rows functions.* of s, of which nothing is kept. ERR_INVALID: an entry is malformed, or shadows a preset. */
int fn_policy_new(const struct settings *s, struct fn_policy **ret, struct err *err);
struct fn_policy *fn_policy_ref(struct fn_policy *p);
struct fn_policy *fn_policy_unref(struct fn_policy *p); /* NULL */
DEFINE_CLEANUP(struct fn_policy *, fn_policy_unref)
/* The reference of a name of the catalogue; NULL when it has none. Borrowed. */
const char *fn_policy_reference(const struct fn_policy *p, const char *name);
bool fn_policy_is_preset(const char *name);
bool fn_policy_allows(const struct fn_policy *p, const char *name);
int64_t fn_policy_cap(const struct fn_policy *p, const char *name, const char *what, int64_t fallback);
json_t *fn_policy_catalogue(const struct fn_policy *p); /* [{name, oci_ref, kind, allowed}]; caller owns */
