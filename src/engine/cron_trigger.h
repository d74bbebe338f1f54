/* Trigger type `cron`: calls at the times of an expression. Private to engine/. */
#pragma once
#include "engine/engine_core.h"

void cron_trigger_init(struct engine *e);
