/* Trigger types engine::functions-available and engine::workers-available: who connected, who left. Private to
 * engine/. */
#pragma once
#include "engine/engine_core.h"

void presence_init(struct engine *e);
void presence_done(struct engine *e);
void presence_functions_changed(struct engine *e); /* one event for many changes */
/* event: worker_connected, worker_disconnected, worker_metadata_updated. */
void presence_worker(struct engine *e, const char *event, const char *worker_id);
