/* Starts one program by a clone that shares memory and stops us until the child has exec'd: the cost does not depend
 * on our size, and failures are returned in a struct instead of through a pipe. Invariants: the child has exactly
 * descriptors 0-2, no blocked or ignored signal and its own session; after a failed step it only calls _exit. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define AGENT_SPAWN_MAX_GROUPS 32

struct agent_spawn_user {
    uint32_t uid, gid;
    uint32_t groups[AGENT_SPAWN_MAX_GROUPS];
    size_t n_groups;
    char home[256]; /* "" when not known */
};

/* Resolves "uid[:gid]" or names by the sandbox's own /etc/passwd and /etc/group. -EINVAL: not a user string;
 * -ENOENT: no such user or group. Numeric users without a group get that of their passwd entry, else 0. */
int agent_spawn_user(const char *text, struct agent_spawn_user *ret);

struct agent_spawn {
    char **argv; /* argv[-1] must be writable as well: room for "/bin/sh" before a script without "#!" */
    char **env;
    const char *cwd;
    const char *path;                    /* value of PATH for the lookup of argv[0] */
    const struct agent_spawn_user *user; /* NULL: keep ours */
    int fds[3];
    bool is_pty;              /* fds[0] becomes the controlling terminal */
    int (*inner)(char **env); /* runs in a copy of this process in the place of a program; NULL: argv is one */
    /* results */
    const char *failed_step;
    int failed_errno;
};

/* Records what the child must undo of the agent's own settings. Once, at start. */
void agent_spawn_init(void);
/* /dev/null for reading, opened at start and shared by all commands without input; or -errno. Never closed. */
int agent_spawn_null(void);
/* The pid, or -errno with the failed step ("chdir", "exec", ...) in failed_step. Blocks only until the exec. */
pid_t agent_spawn_run(struct agent_spawn *s);
