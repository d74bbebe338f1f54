/* The entries of the configuration's `workers:` list that are the engine's own: iii-stream, iii-state,
 * iii-http-functions and, once for each listener, iii-worker-manager. May include: base/. */
#pragma once
#include <stdbool.h>

#include "base/err.h"
#include "base/json.h"

bool engine_config_is_known(const char *name);
/* Reads [{"name", "config"}, …] ("" is an empty list). -EINVAL names the entry, the key and what is allowed. Caller
 * owns. */
int engine_config_read(const char *text, json_t **ret, struct err *err);
/* The settings of the last entry of that name; NULL when there is none or it has none. Borrowed. */
const json_t *engine_config_of(const json_t *list, const char *name);
/* The engine that keeps the values of iii-stream or iii-state in the place of this one; NULL: this one does. */
const char *engine_config_bridge(const json_t *list, const char *name);
