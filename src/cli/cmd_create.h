/* `create` and `run`. May include: base/, spec/, cli/. */
#pragma once
#include "base/json.h"
#include <stdint.h>

#include "cli/verbs.h"

verbs_fn cmd_create_run;     /* prints the id; for the contract four lines */
verbs_fn cmd_create_and_run; /* `iii run`: create, run a command, remove */
/* --memory and --cpus into params, as fields of the row's operation. 0, or an exit code after the error was printed. */
int cmd_create_sizes(const struct verbs_args *a, json_t *params);
/* "512" MB, "256m", "2g", "1.5GiB", and docker's "k" and "b". 0: not a size. */
int64_t cmd_create_size_mb(const char *text);
