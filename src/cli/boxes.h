/* `iii sandbox …`: sandboxes from the command line, through the engine's sandbox::* functions. May include: base/,
 * cli/. */
#pragma once
#include "cli/verbs.h"

int boxes_run(const struct verbs_args *a);
int boxes_create(const struct verbs_args *a);
int boxes_exec(const struct verbs_args *a);
int boxes_list(const struct verbs_args *a);
int boxes_stop(const struct verbs_args *a);
