/* `iii trigger FUNCTION`, its per-function help, and `iii get function info`. May include: base/, cli/. */
#pragma once
#include "cli/verbs.h"

int trigger_run(const struct verbs_args *a);
int trigger_info(const struct verbs_args *a);
