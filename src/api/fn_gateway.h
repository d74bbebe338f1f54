/* The address under which sandboxes with network reach services of the host. May include: base/, sandbox/. */
#pragma once
#include "base/json.h"

/* In every value of {name: value}: "://localhost:" and "://127.0.0.1:" name the gateway from now on. */
void fn_gateway_rewrite(json_t *env);
/* A sentence for each variable whose value is the address of a port of the host that is not among ports
 * (III_GATEWAY_PORTS); NULL: none. Caller owns. */
json_t *fn_gateway_warnings(json_t *env, const char *ports);
