/* Functions state::* and trigger type `state`: values by scope and key, kept in the store. Private to engine/. */
#pragma once
#include "engine/engine_core.h"

int kv_init(struct engine *e, struct err *err);
void kv_stop(struct engine *e); /* calls that wait for another engine are answered */
void kv_done(struct engine *e);
