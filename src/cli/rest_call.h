/* One blocking request to the REST API of a server. Untrusted: the reply (capped). May include: base/, http/, loop/,
 * cli/. */
#pragma once
#include "base/err.h"
#include "base/json.h"
#include "cli/verbs.h"

struct rest_call {
    const char *method, *path; /* "/tokens", after the prefix */
    const json_t *body;        /* or NULL */
};
/* Uses --server URL, with --token (otherwise III_AUTH_TOKEN). 0 with the reply of a success (caller owns); otherwise
 * err has the server's message. */
int rest_call_run(const struct verbs_args *a, const struct rest_call *call, json_t **ret, struct err *err);
bool rest_call_is_wanted(const struct verbs_args *a); /* --server, or III_SERVER, was given */
