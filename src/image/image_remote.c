/* Theory of operation. A call is a socket pair of its own: one end goes to the tool, which forks a child for it; the
 * request and the replies are JSON, one message each. A helper is such a pair that is kept open: its child waits for
 * the next request. A tool that died is restarted and the call repeated once: every operation is idempotent, unless it
 * writes into a descriptor of the caller. */
#include "image/image_remote.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "image/image_tool_pool.h"
#include "image/layout.h"
#include "os/seqsock.h"

#define LOOK_MS 100 /* how often a long call checks whether it was cancelled */

struct image_remote {
    struct keeper *keeper;
    unsigned job;
    char *data_dir;
    pthread_mutex_t mutex; /* guards the rest */
    int sock, pidfd;
    pid_t pid;
};

struct image_helper {
    unsigned refs;
    int sock; /* used by one thread at a time */
};

struct image_helper *image_helper_ref(struct image_helper *h)
{
    if (h)
        h->refs++;
    return h;
}

struct image_helper *image_helper_unref(struct image_helper *h)
{
    if (h && --h->refs == 0) {
        close_fd_p(&h->sock); /* closing tells the child to exit */
        free(h);
    }
    return NULL;
}

static void tool_reap(struct image_remote *r)
{
    if (r->sock >= 0)
        (void)close(steal_fd(&r->sock)); /* closing tells the tool to exit */
    if (r->pid > 0)
        (void)waitpid(r->pid, NULL, 0); /* our child: it can only exit */
    if (r->pidfd >= 0)
        (void)close(steal_fd(&r->pidfd)); /* only a handle */
    r->pid = 0;
}

static int tool_start(struct image_remote *r, struct err *err)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return err_sys(err, -errno, "socket pair for the image tool");
    int result = keeper_run(r->keeper, r->job, pair[1], &r->pid, &r->pidfd, err);
    (void)close(pair[1]); /* the tool's end */
    if (result < 0) {
        (void)close(pair[0]); /* nobody has the other end */
        return err_wrap(err, result, "start the image tool");
    }
    r->sock = pair[0];
    return 0;
}

int image_remote_new(const char *data_dir, struct keeper *k, unsigned job, struct image_remote **ret, struct err *err)
{
    struct image_remote *r = xzalloc(sizeof(*r));
    *r = (struct image_remote){ .keeper = k, .job = job, .data_dir = xstrdup(data_dir), .sock = NO_FD, .pidfd = NO_FD };
    (void)pthread_mutex_init(&r->mutex, NULL); /* cannot fail for a plain mutex */
    int result = tool_start(r, err);
    if (result < 0)
        (void)image_remote_free(r);
    else
        *ret = r;
    return result;
}

struct image_remote *image_remote_free(struct image_remote *r)
{
    if (r) {
        tool_reap(r);
        (void)pthread_mutex_destroy(&r->mutex);
        free(r->data_dir);
        free(r);
    }
    return NULL;
}

const char *image_remote_folder(const struct image_remote *r, const char *folder)
{
    size_t n = strlen(r->data_dir);
    return strncmp(folder, r->data_dir, n) == 0 && folder[n] == '/' ? folder + n + 1 : NULL;
}

/* Hands one end of a call's pair to the tool. */
static int hand_over(struct image_remote *r, int fd, char byte, struct err *err)
{
    struct iovec parts[2] = { { &byte, 1 }, { NULL, 0 } };
    (void)pthread_mutex_lock(&r->mutex);
    int result = r->sock >= 0 ? seqsock_send(r->sock, parts, &fd, 1) : -EPIPE;
    if (result < 0) {
        tool_reap(r);
        result = tool_start(r, err);
        if (result == 0 && (result = seqsock_send(r->sock, parts, &fd, 1)) < 0)
            (void)err_sys(err, result, "talk to the image tool");
    }
    (void)pthread_mutex_unlock(&r->mutex);
    return result;
}

/* Reads one reply. 1: more follow; -EPIPE without err: the tool's child exited without a reply. */
static int read_reply(int sock, char *text, struct image_pull_state *state, json_t **ret, struct err *err)
{
    size_t n_fds = 0;
    JSON_OWNED answer = NULL;
    ssize_t n = seqsock_recv(sock, text, IMAGE_REMOTE_MESSAGE, NULL, 0, &n_fds);
    if (n <= 0)
        return -EPIPE;
    int r = json_read(text, (size_t)n, &answer, err);
    if (r < 0)
        return r;
    if (json_get(answer, "progress")) {
        const json_t *at = json_get(answer, "progress");
        if (state) {
            atomic_store(&state->done_bytes, json_get_int(at, "done", 0));
            atomic_store(&state->total_bytes, json_get_int(at, "total", 0));
            atomic_store(&state->layers_done, (int)json_get_int(at, "layersDone", 0));
            atomic_store(&state->layers, (int)json_get_int(at, "layers", 0));
        }
        return 1;
    }
    const json_t *e = json_get(answer, "error");
    if (!e) {
        if (ret)
            *ret = json_incref(answer);
        return 0;
    }
    int64_t code = json_get_int(e, "code", ERR_INTERNAL), sys = json_get_int(e, "sys", 0);
    int64_t result = json_get_int(e, "result", -EIO);
    if (code <= ERR_NONE || code >= ERR_COUNT)
        code = ERR_INTERNAL;
    if (err) {
        *err = (struct err){ .code = (enum err_code)code, .sys = sys > 0 && sys < 4096 ? (int)sys : 0 };
        (void)snprintf(err->msg, sizeof(err->msg), "%s", json_get_str(e, "msg", "the image tool gave no reason"));
    }
    return result < 0 && result > -4096 ? (int)result : -EIO;
}

int image_build_begin(struct image_store *s, json_t *request, const int fds[2], int *ret_sock, struct err *err)
{
    int pair[2];
    size_t len = 0;
    CLEANUP(free_p) char *text = json_write(request, &len);
    struct iovec parts[2] = { { text, len }, { NULL, 0 } };
    json_decref(request);
    if (!text || len >= IMAGE_REMOTE_MESSAGE)
        return err_set(err, ERR_TOO_LARGE, 0, "a request of %zu bytes to the image tool", len);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return err_sys(err, -errno, "socket pair for the image tool");
    int r = seqsock_send(pair[0], parts, fds, 2);
    r = r < 0 ? err_sys(err, r, "ask the image tool") : hand_over(s->remote, pair[1], IMAGE_TOOL_POOL_UNTRUSTED, err);
    (void)close(pair[1]); /* the tool's */
    if (r < 0)
        (void)close(pair[0]); /* nobody has the other end */
    else
        *ret_sock = pair[0];
    return r;
}

int image_build_end(int sock, struct err *err)
{
    CLEANUP(free_p) char *text = xrealloc(NULL, IMAGE_REMOTE_MESSAGE);
    int r = read_reply(sock, text, NULL, NULL, err);
    return r == -EPIPE && !err->code
               ? err_set(err, ERR_INTERNAL, 0, "the process that builds ended in the middle of this: try again")
               : r;
}

/* One call in progress. */
struct call {
    struct image_remote *remote;
    char *text;
    size_t len;
    struct image_remote_how how;
};

static int call_await(const struct call *c, int sock, json_t **ret, struct err *err)
{
    CLEANUP(free_p) char *text = xrealloc(NULL, IMAGE_REMOTE_MESSAGE); /* not zeroed: that takes longer than a call */
    bool is_told = false;
    for (int r = 1; r == 1;) {
        struct pollfd p = { .fd = sock, .events = POLLIN };
        int ready = poll(&p, 1, c->how.stop || c->how.state ? LOOK_MS : -1);
        bool is_unwanted =
            (c->how.stop && atomic_load(c->how.stop)) || (c->how.state && atomic_load(&c->how.state->is_cancelled));
        if (!is_told && is_unwanted) {
            is_told = true;
            (void)send(sock, "s", 1, MSG_NOSIGNAL); /* if the child has exited, the reply tells */
        }
        if (ready > 0 && (r = read_reply(sock, text, c->how.state, ret, err)) != 1)
            return r;
    }
    return -EIO;
}

static int call_once(const struct call *c, json_t **ret, struct err *err)
{
    int pair[2];
    struct iovec parts[2] = { { c->text, c->len }, { NULL, 0 } };
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return err_sys(err, -errno, "socket pair for the image tool");
    int r = seqsock_send(pair[0], parts, c->how.fd, c->how.fd ? 1 : 0);
    r = r < 0 ? err_sys(err, r, "ask the image tool")
              : hand_over(c->remote, pair[1], c->how.is_untrusted ? IMAGE_TOOL_POOL_UNTRUSTED : IMAGE_TOOL_POOL_PLAIN,
                          err);
    (void)close(pair[1]); /* the tool's */
    if (r == 0)
        r = call_await(c, pair[0], ret, err);
    if (r == 0 && c->how.keep) {
        *c->how.keep = xzalloc(sizeof(**c->how.keep));
        **c->how.keep = (struct image_helper){ .refs = 1, .sock = pair[0] };
    } else {
        (void)close(pair[0]); /* all replies were read */
    }
    return r;
}

int image_remote_work(struct image_remote *r, json_t *request, const struct image_remote_how *how, json_t **ret_answer,
                      struct err *err)
{
    struct err own = ERR_INIT;
    struct call c = { .remote = r, .how = *how };
    CLEANUP(free_p) char *text = c.text = json_write(request, &c.len);
    json_decref(request);
    if (!text || c.len >= IMAGE_REMOTE_MESSAGE)
        return err_set(err, ERR_TOO_LARGE, 0, "a request to the image tool of %zu bytes", c.len);
    /* -EPIPE without an error: no helper, or it has exited. */
    struct iovec parts[2] = { { c.text, c.len }, { NULL, 0 } };
    const struct image_helper *h = how->helper;
    int result = h && h->sock >= 0 && seqsock_send(h->sock, parts, NULL, 0) >= 0
                     ? call_await(&c, h->sock, ret_answer, &own)
                     : -EPIPE;
    int tries_max = how->fd ? 1 : 2; /* part of it may have been written there */
    for (int tries = 0; tries < tries_max && result == -EPIPE && !own.code; tries++)
        result = call_once(&c, ret_answer, &own);
    if (result < 0 && !own.code)
        (void)err_set(&own, ERR_INTERNAL, 0, "the image tool ended in the middle of this: try again");
    if (result < 0 && err)
        *err = own;
    return result;
}

int image_remote_call(struct image_remote *r, json_t *request, json_t **ret_answer, struct err *err)
{
    return image_remote_work(r, request, &(struct image_remote_how){ 0 }, ret_answer, err);
}
