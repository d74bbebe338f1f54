/* One request to the REST API of a server, waited for. Untrusted: the answer (capped). May include: base/, http/,
 * loop/, cli/. */
#pragma once
#include "base/err.h"
#include "base/json.h"
#include "cli/verbs.h"

struct restcall {
    const char *method, *path; /* "/tokens", behind the prefix */
    const json_t *body;        /* or NULL */
};
/* Where: --server URL, with --token (else III_AUTH_TOKEN). 0 with the answer of a success (caller owns); else err has
 * the server's own words. */
int restcall_run(const struct verbs_args *a, const struct restcall *call, json_t **ret, struct err *err);
bool restcall_is_wanted(const struct verbs_args *a); /* --server, or III_SERVER, was given */
