/* Function `publish` and trigger type `subscribe`: a message for the current subscribers. Private to engine/. */
#pragma once
#include "engine/engine_core.h"

void pubsub_init(struct engine *e);
void pubsub_done(struct engine *e);
