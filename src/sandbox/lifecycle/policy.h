/* What a sandbox does on its own: when it expires (onTimeout), when nobody uses it (onIdle), when it is called
 * asleep (autoResume) and when its processes are gone (restart). Private to sandbox/. May include: base/, runtime/,
 * sandbox/. */
#pragma once
#include "sandbox/lifecycle/manager.h"

bool policy_kills(const char *action);                          /* also NULL: the default */
bool policy_is_persistent(const struct sandbox_config *config); /* one that dies keeps its files */
/* ERR_UNSUPPORTED: the backend cannot do what the configuration asks for. */
int policy_check(const struct sandbox_config *config, const struct runtime *rt, struct err *err);
/* Does the action, another than "kill", unless it sleeps as deeply already. reason: "timeout" or "idle". What fails is
 * logged, and asked for again by the next look. */
void policy_sleep(struct sandbox *s, const char *action, const char *reason);
