/* `iii sandbox …`: sandboxes from the command line, through the engine's sandbox::* functions. May include: base/,
 * cli/. */
#pragma once
#include "cli/verbs.h"

int cmd_sandbox_run(const struct verbs_args *a);
int cmd_sandbox_create(const struct verbs_args *a);
int cmd_sandbox_exec(const struct verbs_args *a);
int cmd_sandbox_worker_exec(const struct verbs_args *a); /* a terminal when no command is given */
int cmd_sandbox_list(const struct verbs_args *a);
int cmd_sandbox_stop(const struct verbs_args *a);
/* Every sandbox of the engine, for completion; none when there is no engine. */
typedef void cmd_sandbox_each_fn(void *arg, const char *id, const char *name, const char *image);
void cmd_sandbox_each(const struct verbs_args *a, cmd_sandbox_each_fn *fn, void *arg);
