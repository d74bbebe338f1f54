/* A real agent, un-sandboxed in a temporary folder, with a link to it: what the tests of the link's calls stand on. The
 * program is named by III_GUEST; without it the tests skip. */
#pragma once
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "guest/link.h"
#include "tap.h"

#define RIG_WAIT_MS 20000

struct rig {
    struct loop *loop;
    struct guest_link *g;
    pid_t agent;
    char dir[64]; /* absolute */
    char path[128], tag[64];
    int done, failed, gone, exits, opens, eofs, writable;
    struct err err; /* of the last failure */
    bool is_timed_out, is_over;
    struct buf out, log; /* bytes of 1, of 2 */
    struct guest_exit exit;
    int pid;
    bool does_credit;
    struct guest_exec *x;
    struct guest_reader *reader;
    struct guest_writer *writer;
    struct guest_tunnel *tunnel;
};

static const char *rig_program(void)
{
    const char *path = getenv("III_GUEST");
    return path && access(path, X_OK) == 0 ? path : NULL;
}

static void rig_wake(struct rig *r)
{
    if (!r->is_over) /* loop_free() runs what is left, and must not be stopped in it */
        loop_stop(r->loop);
}

static void rig_gone(void *arg, const struct err *err)
{
    struct rig *r = arg;
    r->gone++;
    printf("# link gone: %s\n", err->msg);
    rig_wake(r);
}

static void rig_on_done(void *arg, const struct err *err)
{
    struct rig *r = arg;
    r->done++;
    r->err = (struct err)ERR_INIT;
    if (err) {
        r->failed++;
        r->err = *err;
    }
    rig_wake(r);
}

static void rig_timeout(void *arg)
{
    struct rig *r = arg;
    r->is_timed_out = true;
    rig_wake(r);
}

/* Runs the loop until *count reaches n. */
static void rig_wait(struct rig *r, const int *count, int n)
{
    struct timer *t = timer_new(r->loop, RIG_WAIT_MS, 0, rig_timeout, r);
    while (*count < n && !r->is_timed_out && !r->gone)
        loop_run(r->loop);
    CHECK(!r->is_timed_out);
    timer_free(t);
}

/* Runs the loop for as long, whatever wakes it. */
static inline void rig_run(struct rig *r, int64_t ms)
{
    struct timer *t = timer_new(r->loop, ms, 0, rig_timeout, r);
    while (!r->is_timed_out && !r->gone)
        loop_run(r->loop);
    timer_free(t);
    r->is_timed_out = false;
}

/* Without credit as much comes as the window holds, and not more. */
static inline void rig_wait_window(struct rig *r)
{
    struct timer *t = timer_new(r->loop, RIG_WAIT_MS, 0, rig_timeout, r);
    while (r->out.len < GUEST_WINDOW && !r->is_timed_out && !r->gone)
        loop_run(r->loop);
    CHECK(!r->is_timed_out);
    timer_free(t);
    rig_run(r, 200);
    CHECK_INT(r->out.len, GUEST_WINDOW);
}

/* Waits for the call just started to be done, and says how it ended: 0 or its err_code. */
static inline int rig_result(struct rig *r, int started)
{
    CHECK_INT(started, 0);
    if (started == 0)
        rig_wait(r, &r->done, r->done + 1);
    return r->err.code;
}

static void rig_run_agent(int fd)
{
    char number[16];
    const char *program = rig_program();
    (void)snprintf(number, sizeof(number), "%d", fd);
    if (fcntl(fd, F_SETFD, 0) < 0)
        _exit(126);
    (void)execl(program, program, "--connect", number, (char *)NULL);
    _exit(127);
}

static void rig_init(struct rig *r)
{
    struct err err = ERR_INIT;
    int fds[2];
    *r = (struct rig){ .does_credit = true, .dir = "/tmp/iii-link-XXXXXX" };
    buf_init(&r->out, 64u << 20);
    buf_init(&r->log, 64u << 20);
    CHECK(mkdtemp(r->dir) != NULL);
    CHECK_INT(loop_new(&r->loop, &err), 0);
    CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    r->agent = fork();
    if (r->agent == 0)
        rig_run_agent(fds[1]);
    close(fds[1]);
    CHECK_INT(guest_link_new(r->loop, fds[0], rig_gone, r, &r->g), 0);
}

static void rig_done(struct rig *r)
{
    r->is_over = true;
    guest_link_free(r->g);
    loop_free(r->loop);
    int status;
    (void)kill(r->agent, SIGTERM); /* a durable command would keep it waiting for the next host */
    (void)usleep(50000);
    (void)kill(r->agent, SIGKILL);
    CHECK_INT(waitpid(r->agent, &status, 0), r->agent);
    pid_t rm = fork();
    if (rm == 0) {
        (void)execlp("sh", "sh", "-c", "rm -rf \"$0\" \"$0\"-*.log", r->dir, (char *)NULL);
        _exit(127);
    }
    (void)waitpid(rm, &status, 0);
    buf_done(&r->out);
    buf_done(&r->log);
}

/* A tag of this rig alone: without a sandbox the log of a durable command is the host's /tmp/TAG.log. Good until the
 * next call. */
static inline const char *rig_tag(struct rig *r, const char *name)
{
    (void)snprintf(r->tag, sizeof(r->tag), "%s-%s", strrchr(r->dir, '/') + 1, name);
    return r->tag;
}

/* A path in the agent's folder; good until the next call. */
static inline const char *rig_path(struct rig *r, const char *name)
{
    (void)snprintf(r->path, sizeof(r->path), "%s/%s", r->dir, name);
    return r->path;
}
