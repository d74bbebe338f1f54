#include "main/config_keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "main/config_reader.h"
#include "os/seqsock.h"

enum { AGAIN_MS = 50, AGAIN_MAX_MS = 5000, WELL_MS = 10000, END_MS = 500, KILL_MS = 500, BATCH = 8 };

struct config_keeper {
    struct loop *loop;
    struct keeper *keeper;
    unsigned job;
    struct config_keeper_events events;
    pid_t pid; /* 0: none runs */
    int pidfd, sock;
    struct watch *watch, *exit_watch;
    struct timer *again;
    int64_t again_ms, begun_ms;
    bool is_asked, is_moved;
    char told[CONFIG_READER_TEXT_MAX + 64]; /* the last trouble; "": none */
};

static void tell(struct config_keeper *k, const char *text)
{
    if (strcmp(k->told, text) == 0 && !k->is_asked)
        return;
    (void)snprintf(k->told, sizeof(k->told), "%s", text);
    k->events.on_trouble(k->events.arg, text);
}

/* --- what it says --- */

/* Only a file that nobody can change any more is looked at. */
static void take_file(struct config_keeper *k, int fd)
{
    const int sealed = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
    struct stat st;
    int seals = fcntl(fd, F_GET_SEALS);
    if (seals < 0 || (seals & sealed) != sealed || fstat(fd, &st) < 0 || st.st_size > CONFIG_READER_FILE_MAX)
        return;
    size_t len = (size_t)st.st_size;
    CLEANUP(free_p) char *text = xzalloc(len + 1);
    if (pread(fd, text, len, 0) != (ssize_t)len)
        return;
    bool is_asked = k->is_asked;
    k->is_asked = false;
    k->told[0] = '\0';
    k->events.on_file(k->events.arg, text, len, is_asked);
}

/* False: there is no more now, or it is not to be believed any more. */
static bool take_message(struct config_keeper *k)
{
    struct config_reader_msg m;
    size_t n_fds = 0;
    int fd = NO_FD;
    ssize_t n = seqsock_recv(k->sock, &m, sizeof(m), &fd, 1, &n_fds);
    CLEANUP(close_fd_p) int owned = n_fds ? fd : NO_FD;
    if (n == -EAGAIN || n == -EBADMSG) /* the second: no descriptor was free for it */
        return n == -EBADMSG;
    if (n != (ssize_t)sizeof(m)) {
        k->watch = watch_free(k->watch);
        keeper_kill(k->keeper, k->pid); /* gone already, or talks nonsense: its exit is next */
        return false;
    }
    m.text[sizeof(m.text) - 1] = '\0';
    if (m.kind == CONFIG_READER_FILE && owned >= 0) {
        take_file(k, owned);
    } else if (m.kind == CONFIG_READER_TROUBLE) {
        tell(k, m.text);
        k->is_asked = false;
    } else if (m.kind == CONFIG_READER_MOVED) {
        k->is_moved = true;
    }
    return true;
}

static void on_message(void *arg, int events)
{
    struct config_keeper *k = arg;
    (void)events;
    for (int i = 0; i < BATCH && k->watch && take_message(k); i++) {
    }
}

/* --- its life --- */

static void let_go(struct config_keeper *k)
{
    k->watch = watch_free(k->watch);
    k->exit_watch = watch_free(k->exit_watch);
    if (k->sock >= 0)
        (void)close(steal_fd(&k->sock));
    if (k->pidfd >= 0)
        (void)close(steal_fd(&k->pidfd));
    k->pid = 0;
}

static void start(struct config_keeper *k);

static void on_again(void *arg)
{
    start(arg);
}

/* One that ended for cause is no sign of trouble: the operator has moved things, or it has waited itself. */
static void start_later(struct config_keeper *k)
{
    bool was_well = k->begun_ms && loop_now_ms(k->loop) - k->begun_ms >= WELL_MS;
    k->again_ms = was_well || k->is_moved || !k->again_ms ? AGAIN_MS
                  : k->again_ms * 2 < AGAIN_MAX_MS        ? k->again_ms * 2
                                                          : AGAIN_MAX_MS;
    if (!k->again)
        k->again = timer_new(k->loop, k->again_ms, 0, on_again, k);
    else
        timer_set(k->again, k->again_ms, 0);
}

static void on_exit_seen(void *arg)
{
    struct config_keeper *k = arg;
    int status = 0;
    bool was_moved;
    on_message(k, LOOP_READ); /* its last words */
    was_moved = k->is_moved;
    (void)waitpid(k->pid, &status, 0);
    let_go(k);
    if (!was_moved && WIFSIGNALED(status))
        tell(k, "its reader was killed; it is started again");
    else if (!was_moved && !k->told[0])
        tell(k, "its reader ended; it is started again");
    start_later(k);
}

static int spawn(struct config_keeper *k, struct err *err)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
        return err_sys(err, -errno, "socket pair");
    k->sock = pair[0];
    int r = keeper_run(k->keeper, k->job, pair[1], &k->pid, &k->pidfd, err);
    (void)close(pair[1]);
    if (r < 0)
        return r;
    r = watch_new(k->loop, k->sock, LOOP_READ, on_message, k, &k->watch);
    if (r == 0)
        r = loop_on_exit(k->loop, k->pidfd, on_exit_seen, k, &k->exit_watch);
    return r < 0 ? err_sys(err, r, "watch the process") : 0;
}

/* Ends with the socket; whatever holds it up (a file system that does not answer) does not hold up the server. */
static void end(struct config_keeper *k)
{
    k->watch = watch_free(k->watch);
    k->exit_watch = watch_free(k->exit_watch);
    if (k->sock >= 0)
        (void)close(steal_fd(&k->sock));
    struct pollfd p = { .fd = k->pidfd, .events = POLLIN };
    if (k->pid > 0 && (k->pidfd < 0 || poll(&p, 1, END_MS) != 1)) {
        keeper_kill(k->keeper, k->pid); /* not ours to signal */
        (void)(k->pidfd >= 0 && poll(&p, 1, KILL_MS));
    }
    if (k->pid > 0)
        (void)waitpid(k->pid, NULL, WNOHANG);
    let_go(k);
}

static void start(struct config_keeper *k)
{
    struct err err = ERR_INIT;
    k->is_moved = false;
    k->begun_ms = loop_now_ms(k->loop);
    if (spawn(k, &err) == 0)
        return;
    end(k);
    tell(k, err.msg);
    start_later(k);
}

struct config_keeper *config_keeper_new(struct loop *l, struct keeper *keeper, unsigned job,
                                        const struct config_keeper_events *events)
{
    struct config_keeper *k = xzalloc(sizeof(*k));
    *k = (struct config_keeper){
        .loop = l, .keeper = keeper, .job = job, .events = *events, .pidfd = NO_FD, .sock = NO_FD
    };
    start(k);
    return k;
}

void config_keeper_ask(struct config_keeper *k)
{
    struct config_reader_msg m = { .kind = CONFIG_READER_ASK };
    struct iovec parts[2] = { { &m, sizeof(m) }, { NULL, 0 } };
    k->is_asked = true;
    if (k->sock >= 0)
        (void)seqsock_send(k->sock, parts, NULL,
                           0); /* one that is gone is started again, and hands over what is there */
}

struct config_keeper *config_keeper_free(struct config_keeper *k)
{
    if (k) {
        end(k);
        k->again = timer_free(k->again);
        free(k);
    }
    return NULL;
}
