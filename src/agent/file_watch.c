/* Theory of operation. A helper process with the rights of the sandbox's user, which is not able to get others back,
 * watches the tree (watch_tree.h). Each message on its socket is a payload of FS_CHANGES, checked here, since a process
 * of the same user may have taken the helper over. The agent takes a message only when the window has room for a whole
 * one; otherwise the helper keeps and merges what happens.
 *
 * The stream ends by the host's drop, which kills the helper, or with the helper. */
#include "agent/file_watch.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/as_user.h"
#include "agent/helper.h"
#include "agent/stream.h"
#include "agent/watch_tree.h"

struct file_watch {
    struct agent_stream stream;
    struct agent *agent;
    struct agent_watch socket;
    pid_t pid;
};

#define WATCH_OF(ptr, field) ((struct file_watch *)((char *)(ptr)-offsetof(struct file_watch, field)))

static void free_watch(struct file_watch *f)
{
    if (f->pid > 0)
        agent_helper_kill(f->pid);
    agent_stream_close(&f->stream);
    agent_loop_close(&f->agent->loop, &f->socket);
    free(f);
}

static void watch_on_drop(struct agent_stream *s)
{
    free_watch(WATCH_OF(s, stream));
}

static void end_watch(struct file_watch *f, int error, const char *why)
{
    struct agent_reply r = { .agent = f->agent, .conn = f->stream.conn, .pipe_fd = -EBADF, .stream = f->stream.id };

    agent_reply_error(&r, error, "%s", why);
    free_watch(f);
}

static void end_watch_early(struct file_watch *f, int32_t error)
{
    bool is_full = error == ENOSPC || error == EMFILE;

    end_watch(f,
              is_full                     ? EMFILE
              : error > 0 && error < 4096 ? error
                                          : EIO,
              is_full ? "watch: fs.inotify.max_user_watches or max_user_instances of the sandbox's user is reached"
                      : "watch: the folder cannot be watched");
}

static void watch_on_message(struct agent_watch *w, uint32_t events)
{
    struct file_watch *f = WATCH_OF(w, socket);
    struct agent_stream *s = &f->stream;
    struct proto_writer out;
    int32_t error;

    (void)events;
    if (s->can_send < AGENT_WATCH_TREE_BATCH || agent_conn_is_full(s->conn)) {
        (void)agent_loop_watch(&f->agent->loop, w, 0); /* removing cannot fail */
        return;
    }
    proto_frame_begin(&out, agent_conn_scratch(f->agent), PROTO_FRAME_MAX);
    uint8_t *payload = out.data + out.len;
    ssize_t n = recv(w->fd, payload, AGENT_WATCH_TREE_BATCH, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n == (ssize_t)sizeof(error)) { /* shorter than any record */
        memcpy(&error, payload, sizeof(error));
        end_watch_early(f, error);
        return;
    }
    if (n <= 0 || proto_check(PROTO_FROM_GUEST, PROTO_FS_CHANGES, payload, (size_t)n) < 0) {
        end_watch(f, EIO, "watch: the agent's helper process was killed");
        return;
    }
    out.len += (size_t)n;
    s->can_send -= (uint32_t)n;
    f->agent->is_scratch_dirty |= n > 4096;
    int len = proto_frame_end(&out, s->id, PROTO_FS_CHANGES, 0);
    assert(len > 0);
    agent_conn_send(s->conn, out.data, (size_t)len);
}

static void watch_on_ready(struct agent_stream *s)
{
    struct file_watch *f = WATCH_OF(s, stream);

    if (agent_loop_watch(&f->agent->loop, &f->socket, EPOLLIN) < 0)
        end_watch(f, ENOMEM, "watch");
}

static int watch_on_frame(struct agent_stream *s, uint16_t type, const uint8_t *data, size_t len)
{
    (void)s, (void)type, (void)data, (void)len;
    return -EBADMSG; /* the host sends only credit */
}

static const struct agent_stream_ops watch_ops = { .on_frame = watch_on_frame,
                                                   .on_ready = watch_on_ready,
                                                   .on_drop = watch_on_drop };

/* Runs in the child; does not return. */
static void help(const struct agent_watch_tree_plan *plan, const struct agent_spawn_user *user, const int fds[2])
{
    sigset_t none;

    if (agent_helper_keep_only(fds) < 0)
        _exit(1);
    int32_t error = -agent_as_user_become(user);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* after the change of the user, which clears it */
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL); /* it ends like any other process when the sandbox is stopped */
    if (!error)
        error = agent_watch_tree_run(plan, 4, 3);
    if (error)
        (void)send(3, &error, sizeof(error), MSG_NOSIGNAL);
    _exit(0);
}

/* The folder as the user may read it. */
static int open_root(const char *path, const struct agent_spawn_user *user)
{
    int r = agent_as_user_enter(user);
    if (r < 0)
        return r;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC);
    r = fd < 0 ? -errno : fd;
    agent_as_user_leave(user);
    return r;
}

static int fork_helper(struct file_watch *f, const struct agent_watch_tree_plan *plan,
                       const struct agent_spawn_user *user)
{
    int fds[2], root = open_root(plan->path, user);

    if (root < 0)
        return root;
    int r = socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0 ? -errno : 0;
    if (r == 0) {
        f->pid = fork();
        r = f->pid < 0 ? -errno : 0;
        if (f->pid == 0) {
            (void)close(fds[0]); /* or its own copy would keep the socket open */
            help(plan, user, (int[]){ fds[1], root });
        }
        (void)close(fds[1]);
        f->socket.fd = fds[0];
    }
    (void)close(root);
    return r;
}

void agent_file_watch_start(struct agent_reply *r, const uint8_t *data, size_t len)
{
    struct proto_reader in;
    struct agent_spawn_user user;
    const char *exclude[LIMIT_MAX(WATCH_EXCLUDES)];
    struct file_watch *f = calloc(1, sizeof(*f));

    proto_reader_init(&in, data, len);
    const char *path = proto_get_str(&in, PROTO_PATH_MAX), *name = proto_get_str(&in, PROTO_PATH_MAX);
    struct agent_watch_tree_plan plan = { .path = path, .exclude = exclude, .is_recursive = proto_get_u8(&in) };
    uint32_t n = proto_get_count(&in, PROTO_ARGS_MAX);
    n = n == PROTO_NO_STRS ? 0 : n;
    for (uint32_t i = 0; i < n && i < LIMIT_MAX(WATCH_EXCLUDES); i++)
        exclude[plan.n_exclude++] = proto_get_str(&in, PROTO_REQUEST_MAX);
    int result = !f                                                ? -ENOMEM
                 : path[0] != '/' || n > LIMIT_MAX(WATCH_EXCLUDES) ? -EINVAL
                                                                   : agent_as_user_read(name, &user);
    if (result < 0) {
        agent_reply_error(r, -result, "watch %s as user %s", path, name);
        free(f);
        return;
    }
    f->agent = r->agent;
    f->socket = (struct agent_watch){ .fd = -EBADF, .fn = watch_on_message };
    result = fork_helper(f, &plan, &user);
    agent_stream_open(&f->stream, r->conn, r->stream, &watch_ops);
    if (result == 0)
        result = agent_loop_watch(&f->agent->loop, &f->socket, EPOLLIN);
    if (result < 0) {
        agent_reply_error(r, -result, "watch %s", path);
        free_watch(f);
    }
}
