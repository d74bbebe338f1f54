/* Turns an EXEC_START message into a running process with its pipes or terminal. */
#include "agent/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "agent/pty.h"
#include "agent/sftp.h"

static const char default_path[] = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

static char *as_text(const char *s)
{
    return (char *)(uintptr_t)s; /* execve takes writable pointers and writes nothing */
}

/* The layout has been checked; only memory can run out. */
static int read_plan(struct agent_launch *p, const uint8_t *data, size_t len)
{
    struct proto_reader r;

    proto_reader_init(&r, data, len);
    p->flags = proto_get_u32(&r);
    p->cols = proto_get_u16(&r);
    p->rows = proto_get_u16(&r);
    p->timeout_ms = proto_get_u32(&r);
    p->cwd = proto_get_str(&r, PROTO_PATH_MAX);
    p->user = proto_get_str(&r, PROTO_REQUEST_MAX);
    p->tag = proto_get_str(&r, PROTO_TAG_MAX);
    if (p->cwd[0] == '\0')
        p->cwd = "/";

    /* Arguments and environment share one array: a second reader finds the count of the latter first. */
    uint32_t argc = proto_get_count(&r, PROTO_ARGS_MAX);
    struct proto_reader ahead = r;
    for (uint32_t i = 0; i < argc; i++)
        (void)proto_get_str(&ahead, PROTO_REQUEST_MAX);
    uint32_t envc = proto_get_count(&ahead, PROTO_ARGS_MAX);
    bool has_env = envc != PROTO_NO_STRS;
    /* One spare slot before argv for agent_spawn. */
    p->strings = calloc((size_t)argc + 2 + (has_env ? envc + 2u : 0), sizeof(char *)); /* and one for set_home() */
    if (!p->strings)
        return -ENOMEM;
    p->argv = p->strings + 1;
    for (uint32_t i = 0; i < argc; i++)
        p->argv[i] = as_text(proto_get_str(&r, PROTO_REQUEST_MAX));
    if (!has_env)
        return 0;
    p->env = p->argv + argc + 1;
    for (uint32_t i = 0; i < envc; i++)
        p->env[i] = as_text(proto_get_str(&ahead, PROTO_REQUEST_MAX));
    return 0;
}

static int open_pipe(int *read_end, int *write_end)
{
    int fds[2];

    if (pipe2(fds, O_CLOEXEC) < 0)
        return -errno;
    *read_end = fds[0];
    *write_end = fds[1];
    return 0;
}

static int open_pipes(struct agent_launch *p)
{
    int r = 0;

    if (p->flags & PROTO_WITH_STDIN)
        r = open_pipe(&p->theirs[0], &p->ours[0]);
    else if ((p->theirs[0] = agent_spawn_null()) < 0)
        r = p->theirs[0];
    if (r == 0)
        r = open_pipe(&p->ours[1], &p->theirs[1]);
    if (r == 0 && !(p->flags & PROTO_WITH_MERGE))
        r = open_pipe(&p->ours[2], &p->theirs[2]);
    for (int i = 0; i < 3 && r == 0; i++)
        if (p->ours[i] >= 0 && fcntl(p->ours[i], F_SETFL, O_NONBLOCK) < 0)
            r = -errno;
    return r;
}

static void close_ends(int *ends)
{
    for (int i = 0; i < 3; i++)
        if (ends[i] >= 0 && ends[i] != agent_spawn_null()) {
            (void)close(ends[i]);
            ends[i] = -EBADF;
        }
}

static const char *path_of(char **env)
{
    for (; *env; env++)
        if (strncmp(*env, "PATH=", 5) == 0)
            return *env + 5;
    return default_path + 5;
}

/* Writes a variable whose paths in root's home are in `home` instead. out NULL: only counts. The length. */
static size_t write_for_home(const char *variable, const char *home, char *out)
{
    static const char root[] = "/root";
    const size_t root_len = sizeof(root) - 1, home_len = strlen(home);
    size_t n = 0;
    bool is_first = false; /* of a path */

    for (const char *p = variable; *p;) {
        bool is_root = is_first && strncmp(p, root, root_len) == 0 && strchr("/:", p[root_len]);
        size_t len = is_root ? home_len : 1;
        if (out)
            memcpy(out + n, is_root ? home : p, len);
        is_first = *p == '=' || *p == ':';
        n += len;
        p += is_root ? root_len : 1;
    }
    return n;
}

/* The environment is root's. Another user's command has its own home, into which that user installs: npm is told so,
 * and the commands of pip and npm are found. -ENOMEM. */
static int set_home(struct agent_launch *p)
{
    enum { HOME, FOUND, MODULES, PREFIX };
    static const char *const names[] = {
        [HOME] = "HOME=", [FOUND] = "PATH=", [MODULES] = "NODE_PATH=", [PREFIX] = "NPM_CONFIG_PREFIX="
    };
    static const char bin[] = ":/root/.local/bin", prefix[] = "NPM_CONFIG_PREFIX=/root/.local";
    bool has_prefix = false;
    size_t envc = 0;

    for (char **env = p->env; *env; env++, envc++)
        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
            size_t len = strlen(names[i]);
            if (p->of_home[i] || (i == PREFIX ? strncasecmp : strncmp)(*env, names[i], len) != 0)
                continue;
            const char *more = i == FOUND && !strstr(*env, bin + 1) ? bin : "";
            size_t end = write_for_home(*env, p->who.home, NULL);
            char *made = calloc(1, end + write_for_home(more, p->who.home, NULL) + 1);
            if (!made)
                return -ENOMEM;
            (void)write_for_home(*env, p->who.home, made);
            (void)write_for_home(more, p->who.home, made + end);
            has_prefix = has_prefix || i == PREFIX;
            *env = p->of_home[i] = made;
        }
    if (!has_prefix) {
        p->of_home[PREFIX] = calloc(1, write_for_home(prefix, p->who.home, NULL) + 1);
        if (!p->of_home[PREFIX])
            return -ENOMEM;
        (void)write_for_home(prefix, p->who.home, p->of_home[PREFIX]);
        p->env[envc] = p->of_home[PREFIX];
    }
    return 0;
}

int agent_launch_read(struct agent_launch *p, struct agent_reply *r, const uint8_t *data, size_t len)
{
    *p = (struct agent_launch){ .ours = { -EBADF, -EBADF, -EBADF }, .theirs = { -EBADF, -EBADF, -EBADF } };
    int error = -read_plan(p, data, len);

    if (error) {
        agent_reply_error(r, error, "start a command");
    } else if (p->cwd[0] != '/') {
        error = EINVAL;
        agent_reply_error(r, error, "directory %s: not an absolute path", p->cwd);
    } else if (p->user[0] && (error = -agent_spawn_user(p->user, &p->who))) {
        agent_reply_error(r, error, "user %s: no such user, or not uid[:gid]", p->user);
    } else if (p->env) {
        if (p->who.uid && p->who.home[0] && (error = -set_home(p)))
            agent_reply_error(r, error, "start a command");
    } else {
        char name[65] = "";
        (void)gethostname(name, sizeof(name) - 1);
        (void)snprintf(p->home, sizeof(p->home), "HOME=%s", p->who.home[0] ? p->who.home : "/root");
        (void)snprintf(p->host, sizeof(p->host), "HOSTNAME=%s", name);
        p->default_env[0] = as_text(default_path);
        p->default_env[1] = p->home;
        p->default_env[2] = p->host;
        p->env = p->default_env;
    }
    return -error;
}

static int run_sftp(char **env)
{
    const char *home = "/";
    for (; env && *env; env++)
        if (strncmp(*env, "HOME=", 5) == 0)
            home = *env + 5;
    return agent_sftp_run(0, 1, home);
}

pid_t agent_launch_run(struct agent_launch *p, struct agent_reply *r)
{
    struct agent_spawn s = {
        .argv = p->argv,
        .env = p->env,
        .cwd = p->cwd,
        .path = path_of(p->env),
        .user = p->user[0] ? &p->who : NULL,
        .is_pty = p->flags & PROTO_WITH_PTY,
        .inner = p->flags & PROTO_WITH_SFTP ? run_sftp : NULL,
        .failed_step = p->flags & PROTO_WITH_PTY ? "open a pseudo-terminal" : "open pipes",
    };
    pid_t pid = s.is_pty ? agent_pty_open(p->cols, p->rows, &p->ours[1], &p->theirs[0]) : open_pipes(p);

    if (pid == 0) {
        s.fds[0] = p->theirs[0];
        s.fds[1] = s.is_pty ? p->theirs[0] : p->theirs[1];
        s.fds[2] = s.is_pty || p->flags & PROTO_WITH_MERGE ? s.fds[1] : p->theirs[2];
        pid = agent_spawn_run(&s);
    }
    close_ends(p->theirs);
    if (pid < 0) {
        close_ends(p->ours);
        if (strcmp(s.failed_step, "exec") == 0)
            agent_reply_error(r, -pid, "exec %s", p->argv[0]);
        else if (strcmp(s.failed_step, "chdir") == 0)
            agent_reply_error(r, -pid, "change to directory %s", p->cwd);
        else if (strcmp(s.failed_step, "fork") == 0)
            agent_reply_error(r, -pid, "start %s: no process left in the sandbox (terminate some, or raise its limit)",
                              p->argv[0]);
        else
            agent_reply_error(r, -pid, "start %s: %s", p->argv[0], s.failed_step);
    }
    return pid;
}

void agent_launch_done(struct agent_launch *p)
{
    for (size_t i = 0; i < sizeof(p->of_home) / sizeof(p->of_home[0]); i++)
        free(p->of_home[i]);
    free(p->strings);
}
