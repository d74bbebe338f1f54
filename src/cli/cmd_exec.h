/* `exec` and `code`. May include: base/, spec/, cli/. */
#pragma once
#include "cli/exec_session.h"
#include "cli/verbs.h"

verbs_fn cmd_exec_run;
verbs_fn cmd_exec_code; /* `iii code`, `iii-sandbox run` */

/* What the options of a say about a command of these words; the caller calls exec_session_plan_done(). 0, or an exit
 * code after the error was printed. */
int cmd_exec_plan(const struct verbs_args *a, char **words, int n, struct exec_session_plan *ret);
/* Runs it in a sandbox: joined to this process, or with --json as one call whose response is printed. Returns the exit
 * code. */
int cmd_exec_in(const struct verbs_args *a, const struct rest_client *l, const char *id,
                const struct exec_session_plan *plan);
/* "K=V" of --env, or "K", which copies ours. NULL after a usage error was printed. Caller owns. */
json_t *cmd_exec_env(const struct verbs_args *a);
