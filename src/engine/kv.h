/* Functions state::* and trigger type `state`: values by scope and key, kept in the store. Private to engine/. */
#pragma once
#include "engine/engine_core.h"

#define KV_NAME_MAX   512                /* bytes of a scope or key */
#define KV_VALUE_MAX  (16 * 1024 * 1024) /* bytes of one value as JSON text */
#define KV_KEYS_MAX   100000             /* keys of one scope */
#define KV_SCOPES_MAX 10000

void kv_init(struct engine *e);
void kv_done(struct engine *e);
/* Applies one operation of state::update to value (borrowed); the caller owns the new value. NULL with err. Pure. */
json_t *kv_apply(json_t *value, const json_t *op, struct err *err);
