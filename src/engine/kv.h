/* Functions state::* and trigger type `state`: values by scope and key, kept in the store. Private to engine/. */
#pragma once
#include "engine/engine_core.h"

void kv_init(struct engine *e);
void kv_done(struct engine *e);
