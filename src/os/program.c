#include "os/program.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "os/proc.h"

#define COMPLAINT_MAX 4096 /* bytes of standard error that are kept: the last ones */
#define INPUT_MAX     4096 /* fits into a pipe, so that writing it never blocks */
#define KEPT_MAX      8

static const char *const folders[] = { "/usr/bin", "/usr/sbin", "/bin", "/sbin" };

bool program_find(const char *name, char ret[PROGRAM_PATH_MAX])
{
    for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
        int n = snprintf(ret, PROGRAM_PATH_MAX, "%s/%s", folders[i], name);
        if (n > 0 && n < PROGRAM_PATH_MAX && access(ret, X_OK) == 0)
            return true;
    }
    return false;
}

struct pipes {
    int in[2], out[2], complaint[2];
};

static void pipes_done(struct pipes *p)
{
    for (int i = 0; i < 2; i++) {
        close_fd_p(&p->in[i]);
        close_fd_p(&p->out[i]);
        close_fd_p(&p->complaint[i]);
    }
}

/* --- the child --- */

static int take_descriptors(const struct program_call *c, const struct pipes *p)
{
    /* Above all numbers that are about to be assigned, so that no dup2() closes one that is still needed. */
    int fd = c->fd >= 0 ? fcntl(c->fd, F_DUPFD_CLOEXEC, 16) : NO_FD;
    int cwd = c->cwd >= 0 ? fcntl(c->cwd, F_DUPFD_CLOEXEC, 16) : open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    int in = fcntl(p->in[0], F_DUPFD_CLOEXEC, 16), out = fcntl(p->out[1], F_DUPFD_CLOEXEC, 16);
    int complaint = fcntl(p->complaint[1], F_DUPFD_CLOEXEC, 16);
    if (cwd < 0 || in < 0 || out < 0 || complaint < 0 || (c->fd >= 0 && fd < 0))
        return -errno;
    if (dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(complaint, 2) < 0 || fchdir(cwd) < 0)
        return -errno;
    if (fd >= 0 && dup2(fd, PROGRAM_FD) < 0)
        return -errno;
    return proc_close_from(fd >= 0 ? PROGRAM_FD + 1 : PROGRAM_FD);
}

__attribute__((noreturn)) static void run_child(const struct program_call *c, const char *path, const struct pipes *p)
{
    static char fixed_path[] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin", fixed_locale[] = "LC_ALL=C.UTF-8";
    char *envp[KEPT_MAX + 3] = { fixed_path, fixed_locale };
    size_t n = 2;
    for (size_t i = 0; c->kept && c->kept[i] && i < KEPT_MAX; i++) {
        const char *value = getenv(c->kept[i]);
        if (value && asprintf(&envp[n], "%s=%s", c->kept[i], value) > 0)
            n++;
    }
    envp[n] = NULL;
    (void)setpgid(0, 0);                       /* cannot fail before exec */
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0); /* if it fails, only the parent's deadline kills it */
    (void)umask(022);
    if (take_descriptors(c, p) < 0)
        _exit(126);
    if (c->prepare && c->prepare(c->arg) < 0)
        _exit(125);
    (void)execve(path, (char *const *)(uintptr_t)c->argv, envp);
    _exit(127);
}

/* --- the parent --- */

/* Reads what is available. False at the end of the stream. */
static bool stream_drain(int fd, struct buf *to, bool is_complaint)
{
    char chunk[COMPLAINT_MAX / 2];
    ssize_t n;
    while ((n = read(fd, chunk, sizeof(chunk))) > 0) {
        size_t len = (size_t)n;
        if (is_complaint && to->len + len > COMPLAINT_MAX) /* the cause of a failure is at the end: keeps that */
            buf_consume(to, to->len + len - COMPLAINT_MAX);
        if (to)
            (void)buf_add(to, chunk, len); /* above the limit of an output the rest is dropped */
    }
    return n < 0 && (errno == EAGAIN || errno == EINTR);
}

/* Waits for the exit of the process, not the end of the streams: a grandchild may keep those open. */
static int child_attend(const struct program_call *c, int pidfd, const struct pipes *p, struct buf *complaint)
{
    int64_t until = clock_mono_us() + c->limit_ms * 1000;
    struct pollfd fds[3] = { { pidfd, POLLIN, 0 }, { p->out[0], POLLIN, 0 }, { p->complaint[0], POLLIN, 0 } };
    for (;;) {
        int64_t left = (until - clock_mono_us()) / 1000;
        if (left <= 0)
            return -ETIMEDOUT;
        int n = poll(fds, 3, left > 1000 ? 1000 : (int)left + 1);
        if (n < 0 && errno != EINTR)
            return -errno;
        if (fds[1].revents && !stream_drain(p->out[0], c->out, false))
            fds[1].fd = -1;
        if (fds[2].revents && !stream_drain(p->complaint[0], complaint, true))
            fds[2].fd = -1;
        if (n > 0 && fds[0].revents) {
            (void)stream_drain(p->out[0], c->out, false);
            (void)stream_drain(p->complaint[0], complaint, true);
            return 0;
        }
    }
}

static int child_verdict(const struct program_call *c, int status, struct buf *complaint, struct err *err)
{
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    while (complaint->len > 0 && (unsigned char)complaint->data[complaint->len - 1] <= ' ')
        complaint->data[--complaint->len] = '\0';
    for (size_t i = 0; i < complaint->len; i++) /* one line without control characters */
        if ((unsigned char)complaint->data[i] < ' ' || complaint->data[i] == 127)
            complaint->data[i] = ' ';
    const char *text = buf_text(complaint);
    size_t len = strlen(text), shown = 300; /* what fits into struct err's message */
    text += len > shown ? len - shown : 0;
    if (WIFSIGNALED(status))
        return err_set(err, ERR_INTERNAL, 0, "%s was ended by signal %d: %s", c->argv[0], WTERMSIG(status), text);
    return err_set(err, ERR_INTERNAL, 0, "%s ended with %d: %s", c->argv[0], WEXITSTATUS(status),
                   *text ? text : "it gave no reason");
}

static int make_pipes(const struct program_call *c, struct pipes *p)
{
    size_t len = c->input ? strlen(c->input) : 0;
    if (len > INPUT_MAX)
        return -E2BIG;
    if (pipe2(p->in, O_CLOEXEC) < 0 || pipe2(p->out, O_CLOEXEC) < 0 || pipe2(p->complaint, O_CLOEXEC) < 0)
        return -errno;
    if (fcntl(p->out[0], F_SETFL, O_NONBLOCK) < 0 || fcntl(p->complaint[0], F_SETFL, O_NONBLOCK) < 0)
        return -errno;
    if (len > 0 && write(p->in[1], c->input, len) != (ssize_t)len)
        return -errno;
    (void)close(steal_fd(&p->in[1])); /* everything is written */
    return 0;
}

int program_run(const struct program_call *c, struct err *err)
{
    char path[PROGRAM_PATH_MAX];
    CLEANUP(pipes_done)
    struct pipes p = { { NO_FD, NO_FD }, { NO_FD, NO_FD }, { NO_FD, NO_FD } };
    CLEANUP(buf_done) struct buf complaint = BUF_INIT(COMPLAINT_MAX);
    CLEANUP(close_fd_p) int pidfd = NO_FD;
    int status = 0;
    if (!program_find(c->argv[0], path))
        return err_set(err, ERR_UNSUPPORTED, 0, "%s is missing: apt-get install %s", c->argv[0], c->package);
    int r = make_pipes(c, &p);
    if (r < 0)
        return err_sys(err, r, "pipes for %s", c->argv[0]);
    pid_t pid = proc_clone(0, NO_FD, &pidfd);
    if (pid == 0)
        run_child(c, path, &p);
    if (pid < 0)
        return err_sys(err, (int)pid, "start %s", path);
    (void)setpgid(pid, pid); /* the child does the same: whichever is first */
    (void)close(steal_fd(&p.out[1]));
    (void)close(steal_fd(&p.complaint[1])); /* both are the child's */
    r = child_attend(c, pidfd, &p, &complaint);
    (void)kill(-pid, SIGKILL); /* also its children; the pid is ours until it is reaped */
    if (waitpid(pid, &status, 0) != pid)
        return err_sys(err, -errno, "wait for %s", path);
    if (r == -ETIMEDOUT)
        return err_set(err, ERR_TIMEOUT, 0, "%s was not done after %lld ms and was ended", c->argv[0],
                       (long long)c->limit_ms);
    return r < 0 ? err_sys(err, r, "wait for %s", path) : child_verdict(c, status, &complaint, err);
}
