/* Work on a pool thread on behalf of the manager, counted, so that the server does not free what it uses while it
 * runs. For sandbox/ and the handlers of api/. May include: base/, loop/, sandbox/. */
#pragma once
#include "sandbox/lifecycle/manager.h"

/* Like loop_work(); -ECANCELED when the server is stopping. work may look at m->is_stopping and give up early. */
int offload_run(struct manager *m, loop_fn *work, loop_fn *done, void *arg);
/* Refuses new work; calls fn(arg) when the last has ended, perhaps at once. */
void offload_finish(struct manager *m, loop_fn *fn, void *arg);
