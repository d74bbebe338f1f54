/* A command in a sandbox: string form by `sh -c`, argv form as it is. Output is streamed to the caller or captured up
 * to COMMAND_OUTPUT_MAX on each stream. May include: base/, loop/, guest/, sandbox/. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/limits.h"
#include "guest/link.h"
#include "sandbox/lifecycle/sandbox.h"

#define COMMAND_OUTPUT_MAX LIMIT_MAX(OUTPUT_BYTES)

struct command;

struct command_plan {
    const json_t *command;   /* string, or array of strings; borrowed */
    const char *const *argv; /* used when command is NULL; borrowed */
    const char *cwd;         /* NULL: the sandbox's workdir */
    int64_t timeout_ms;      /* <= 0: the longest; more is cut to it */
    int64_t longest_ms;      /* 0: III_MAX_CMD_TIMEOUT */
    const char *user;        /* as command_user() takes it */
    const char *const *env;  /* NULL: sandbox_env() */
    const char *input;       /* bytes for stdin, then EOF; NULL: no stdin */
    size_t input_len;
    size_t output_max;   /* bytes captured of each stream; 0: COMMAND_OUTPUT_MAX */
    uint16_t cols, rows; /* of the terminal that it gets; 0: none */
    bool has_stdin;      /* its standard input stays open: command_write() */
    bool is_endless;     /* without timeout_ms it may run for ever */
    bool is_told;        /* its end is the event sandbox.exec */
    bool is_sftp;        /* the agent serves SFTP on its standard input and output; argv only names it */
    bool waits_eof;      /* it ends when stdout and stderr are closed, too, not only its process */
};

struct command_result {
    struct guest_exit exit;
    int64_t duration_ms, timeout_ms;
    struct buf out, err; /* when captured */
    bool is_out_cut, is_err_cut;
};

struct command_events {
    void (*on_started)(void *arg, int pid); /* may be NULL */
    /* NULL: captured. Else each piece; credit it with command_credit(). */
    void (*on_output)(void *arg, int fd, const char *data, size_t len);
    /* Once, the last call. res is borrowed; NULL with err. A timeout is res with exit.is_timeout. */
    void (*on_done)(void *arg, const struct command_result *res, const struct err *err);
};

/* Checks state, cwd and command. On success on_done comes, never from inside this call. */
int command_start(struct sandbox *s, const struct command_plan *plan, const struct command_events *ev, void *arg,
                  struct command **ret, struct err *err);
void command_credit(struct command *c, size_t bytes);
/* With has_stdin: returns the bytes that were taken; on_writable comes when there is room again. */
size_t command_write(struct command *c, const char *data, size_t len);
void command_on_writable(struct command *c, loop_fn *fn, void *arg);
void command_close_stdin(struct command *c);
void command_resize(struct command *c, uint16_t cols, uint16_t rows);
void command_signal(struct command *c, int signo); /* to its process group */
void command_cancel(struct command *c);            /* kills the tree; no more callbacks */
void command_kill(struct command *c);              /* kills the tree; on_done tells */

json_t *command_result_json(const struct command_result *res); /* ExecResult; exitCode -1 after a timeout */
/* Adds signal (when one ended it), timedOut and oomKilled. */
void command_exit_json(const struct guest_exit *ex, json_t *into);
int command_timeout_err(const struct command_result *res, struct err *err); /* fills the 504 text; -ETIMEDOUT */
/* argv for a command value: ["sh","-c",text] or the array. Caller frees with strlist_free. NULL with err. */
char **command_argv(const json_t *command, struct err *err);
json_t *
command_text(const json_t *command); /* as records show it: the string, or the array as JSON text; caller owns */
/* Whether the kernel's memory limit ended it: asks the box, since the agent sees only a kill. */
bool command_was_oom(struct sandbox *s, const struct guest_exit *ex);
/* The sandbox's environment with vars ({str:str}, or NULL) over it. Caller frees with strlist_free. NULL with err. */
char **command_env(struct sandbox *s, const json_t *vars, struct err *err);
/* "name", "uid", "name:group", "uid:gid" and mixes; the agent looks names up. NULL gives the image's user. */
int command_user(const struct sandbox *s, const char *user, const char **ret, struct err *err);
/* Any absolute folder without "..". NULL gives the workdir. */
int command_cwd(const struct sandbox *s, const char *cwd, const char **ret, struct err *err);
