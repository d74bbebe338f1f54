/* Sandboxes with restart "always": started again after they were lost with the host, stopped with the server, or died.
 * Private to sandbox/. May include: base/, loop/, sandbox/. */
#pragma once
#include "sandbox/lifecycle/manager.h"

void restart_after_recovery(struct manager *m);
void restart_died(struct sandbox *s);    /* it is stopped now, because its box or agent ended */
void restart_started(struct sandbox *s); /* it has a box: from now on it counts how long */
