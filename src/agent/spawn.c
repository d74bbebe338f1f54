/* The child runs on its own stack inside our memory while we are stopped (CLONE_VFORK), so it only makes bare system
 * calls: libc wrappers such as setuid() would signal other threads, and malloc would change our heap. */
#include "agent/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/file.h"
#include "base/limits.h"
#include "guest/proto_user.h"

#define CHILD_STACK_BYTES (32u * 1024)
#define PATH_BYTES        LIMIT_MAX(PATH_BYTES)
#define USER_FILE_MAX     (1024u * 1024)

/* Set at start, never changed later. */
static struct {
    bool has_low_oom_score;
    struct rlimit nofile;
    bool has_raised_nofile;
    int null_fd; /* or -errno */
} start;

void agent_spawn_init(void)
{
    char text[16] = "";

    int fd = open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC);
    if (fd >= 0) {
        for (int score = -1000; score < 0; score += 500) { /* the lowest score that the kernel allows */
            int n = snprintf(text, sizeof(text), "%d", score);
            if (pwrite(fd, text, (size_t)n, 0) == n)
                break;
        }
        ssize_t got = pread(fd, text, sizeof(text) - 1, 0);
        start.has_low_oom_score = got > 0 && text[0] == '-';
        (void)close(fd);
    }
    if (getrlimit(RLIMIT_NOFILE, &start.nofile) == 0 && start.nofile.rlim_cur < start.nofile.rlim_max) {
        struct rlimit all = { .rlim_cur = start.nofile.rlim_max, .rlim_max = start.nofile.rlim_max };
        start.has_raised_nofile =
            setrlimit(RLIMIT_NOFILE, &all) == 0; /* for many streams; the old limit works as well */
    }
    start.null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (start.null_fd < 0)
        start.null_fd = -errno;
}

int agent_spawn_null(void)
{
    return start.null_fd;
}

/* --- the child --- */
static int child_fail(struct agent_spawn *s, const char *step)
{
    s->failed_errno = errno;
    s->failed_step = step;
    _exit(127);
}

static void set_descriptors(struct agent_spawn *s)
{
    int fds[3];

    /* Moves them above 0-2 first, so that no dup2 overwrites the source of a later one. */
    for (int i = 0; i < 3; i++) {
        fds[i] = s->fds[i];
        if (fds[i] <= 2 && (fds[i] = fcntl(s->fds[i], F_DUPFD_CLOEXEC, 3)) < 0)
            child_fail(s, "dup");
    }
    for (int i = 0; i < 3; i++)
        if (dup2(fds[i], i) < 0)
            child_fail(s, "dup2");
    (void)syscall(SYS_close_range, 3u, ~0u,
                  0u); /* ours are close-on-exec as well, should the kernel lack close_range */
}

static void set_directory(struct agent_spawn *s)
{
    char where[PATH_BYTES];

    if (chdir(s->cwd) < 0)
        child_fail(s, "chdir");
    /* The kernel returns "(unreachable)" for a directory outside our root: a descriptor leaked through the mount
     * tree. */
    if (syscall(SYS_getcwd, where, sizeof(where)) < 0)
        child_fail(s, "getcwd");
    if (where[0] != '/') {
        errno = EXDEV;
        child_fail(s, "chdir");
    }
}

static void exec_file(struct agent_spawn *s, char *file)
{
    (void)execve(file, s->argv, s->env);
    if (errno != ENOEXEC)
        return;
    /* A script without "#!" is run by sh, as execvp and every shell do. */
    char **argv = s->argv - 1;
    char *name = argv[1];
    argv[0] = (char[]){ "/bin/sh" };
    argv[1] = file;
    (void)execve("/bin/sh", argv, s->env);
    argv[1] = name;
}

static void exec_by_path(struct agent_spawn *s)
{
    char file[PATH_BYTES];
    size_t name_len = strlen(s->argv[0]);
    int worst = ENOENT;

    if (strchr(s->argv[0], '/')) {
        exec_file(s, s->argv[0]);
        return;
    }
    for (const char *p = s->path; name_len > 0;) {
        size_t len = strcspn(p, ":");
        if (len > 0 &&
            len + name_len + 2 <= sizeof(file)) { /* an empty entry would mean the current directory: never */
            memcpy(file, p, len);
            file[len] = '/';
            memcpy(file + len + 1, s->argv[0], name_len + 1);
            exec_file(s, file);
            if (errno == EACCES)
                worst = EACCES;
            else if (errno != ENOENT && errno != ENOTDIR)
                return;
        }
        p += len;
        if (*p++ == '\0')
            break;
    }
    errno = worst;
}

static int child_run(void *arg)
{
    struct agent_spawn *s = arg;
    const struct agent_spawn_user *u = s->user;
    sigset_t none;

    if (setsid() < 0)
        child_fail(s, "setsid");
    if (s->is_pty && ioctl(s->fds[0], TIOCSCTTY, 0) < 0)
        child_fail(s, "TIOCSCTTY");
    int score = start.has_low_oom_score ? open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC) : -1;
    if (score >= 0) {
        (void)!write(score, "0", 1); /* a child that keeps our score is the lesser harm */
        (void)close(score);
    }
    set_descriptors(s);
    if (start.has_raised_nofile)
        (void)syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, &start.nofile, NULL);
    if (u && syscall(SYS_setgroups, u->n_groups, u->groups) < 0 && !(errno == EPERM && u->n_groups == 0))
        child_fail(s, "setgroups");
    if (u && syscall(SYS_setresgid, u->gid, u->gid, u->gid) < 0)
        child_fail(s, "setgid");
    if (u && syscall(SYS_setresuid, u->uid, u->uid, u->uid) < 0)
        child_fail(s, "setuid");
    set_directory(s);
    /* No signal has a handler or is ignored here (main.c resets all), so only the mask is left. */
    (void)sigemptyset(&none);
    (void)syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, 8);
    if (s->inner)
        _exit(s->inner(s->env));
    exec_by_path(s);
    return child_fail(s, "exec");
}

pid_t agent_spawn_run(struct agent_spawn *s)
{
    static char stack[CHILD_STACK_BYTES]
        __attribute__((aligned(64))); /* one child at a time: we sleep until it execs */

    s->failed_step = NULL;
    pid_t pid = s->inner ? fork() : clone(child_run, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, s);
    if (pid == 0)
        _exit(child_run(s)); /* a copy: what fails there is told by its exit code alone */
    if (pid < 0) {
        s->failed_errno = errno;
        s->failed_step = "fork";
        return -s->failed_errno;
    }
    if (s->failed_step) {
        (void)waitpid(pid, NULL, 0);
        return -s->failed_errno;
    }
    return pid;
}

/* --- users --- */
int agent_spawn_user(const char *text, struct agent_spawn_user *ret)
{
    struct agent_spawn_user out = { 0 };
    struct proto_user u;

    int r = proto_user_parse(text, &u);
    if (r < 0)
        return r;
    char *passwd = agent_file_text("/etc/passwd", USER_FILE_MAX);
    char *group = agent_file_text("/etc/group", USER_FILE_MAX);
    if (!passwd || !group) {
        r = -ENOMEM;
        goto out;
    }
    if (u.is_numeric) {
        out.uid = u.uid;
        uint32_t uid, gid;
        if (proto_user_passwd_uid(passwd, u.uid, &out.gid, u.name, sizeof(u.name)) < 0)
            out.gid = 0;
        else
            (void)proto_user_passwd(passwd, u.name, &uid, &gid, out.home, sizeof(out.home));
    } else {
        r = proto_user_passwd(passwd, u.name, &out.uid, &out.gid, out.home, sizeof(out.home));
        if (r < 0 && strcmp(u.name, "root") == 0) { /* needs no file: images without /etc/passwd have it as well */
            out.uid = out.gid = 0;
            r = 0;
        }
    }
    if (r == 0 && u.has_group) {
        out.gid = u.gid;
        if (!u.is_group_numeric)
            r = proto_user_group(group, u.group, &out.gid);
    }
    if (r == 0 && u.name[0] && !u.has_group)
        out.n_groups = proto_user_members(group, u.name, out.groups, AGENT_SPAWN_MAX_GROUPS);
    if (r == 0)
        *ret = out;
out:
    free(passwd);
    free(group);
    return r;
}
