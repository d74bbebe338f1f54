/* One command in a sandbox, joined to this process: its streams are ours, with -t its terminal is ours, and its exit
 * code becomes ours. Over the WebSocket of exec::attach. Untrusted: what the server sends. May include: base/, http/,
 * loop/, cli/. */
#pragma once
#include "cli/rest_client.h"

#define EXEC_SESSION_TIMED_OUT 124

struct exec_session_plan {
    json_t *command;        /* string, a line for the sandbox's shell, or array; NULL: a shell. Owned */
    json_t *env;            /* {NAME: value}; owned */
    const char *cwd, *user; /* NULL: the sandbox's */
    int64_t timeout_ms;     /* 0: none */
    bool has_stdin, is_tty;
    bool is_images; /* without a command the image's own */
};
void exec_session_plan_done(struct exec_session_plan *p);

/* Returns the command's exit code, EXEC_SESSION_TIMED_OUT, 128 and a signal that ended us, or failed after the error
 * was printed. */
int exec_session_run(const struct rest_client *l, const char *id, const struct exec_session_plan *plan, int failed);
