/* The engine's view of itself: engine::functions::*, engine::workers::*, engine::triggers::*,
 * engine::registered-triggers::*, engine::channels::create. Private to engine/. */
#pragma once
#include "engine/engine_core.h"

void introspect_init(struct engine *e);
/* Summaries sorted by id, filtered as engine::functions::list says, without what the session may not call; both may be
 * NULL. Caller owns. */
json_t *introspect_functions(struct engine *e, const json_t *filter, const struct session *s);
