/* One command in a sandbox: its output as it arrives, its exit code as ours. The call carries `stream`, the write end
 * of a channel. A server that supports it sends binary frames, one byte 1 (stdout) or 2 (stderr) and then output, and
 * replies with streamed:true; any other ignores it and replies with the whole output. May include: base/, cli/. */
#pragma once
#include "cli/engine_client.h"
#include "cli/verbs.h"

enum { SANDBOX_EXEC_TIMED_OUT = 124 };

struct sandbox_exec_plan {
    const char *id, *workdir; /* workdir NULL: the server's choice */
    char *const *argv;
    int n_argv;
    const json_t *env;  /* ["K=V"], or NULL */
    int64_t timeout_ms; /* < 0: the server's default */
    bool has_stdin;     /* our standard input is read to its end and passed on */
    bool is_json;       /* print the reply instead of the output */
};
/* Returns the exit code. */
int sandbox_exec_run(struct wire *w, const struct sandbox_exec_plan *plan);
json_t *sandbox_exec_env(const struct verbs_args *a); /* the -e options as a list; caller owns */
