/* The address under which sandboxes with network reach services of the host. May include: base/, sandbox/. */
#pragma once
#include "base/json.h"

/* In every value of {name: value}: "://localhost:" and "://127.0.0.1:" name the gateway from now on. */
void fn_gateway_rewrite(json_t *env);
