#include "image/build_server.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/strlist.h"
#include "http/client.h"
#include "os/proc.h"
#include "tls/tls_context.h"

enum { START_MS = 60000, STOP_MS = 60000, CALL_MS = 600000, ANSWER_MAX = 64 << 20, LINE_MAX_BYTES = 4 << 20 };

/* One call that is being waited for. */
struct waiting {
    struct build_server *b;
    struct buf body; /* the reply; for a stream, the incomplete event at its end */
    build_server_event_fn *on_event;
    void *event_arg;
    struct err err;
    int status;
    bool is_over, is_interrupted;
};

/* --- a private server --- */

static bool is_locked(const char *data_dir)
{
    CLEANUP(free_p) char *path = xasprintf("%s/lock", data_dir);
    CLEANUP(close_fd_p) int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    return fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
}

/* Whether a server left sandboxes running on purpose: the private server must leave them running too. */
static bool has_boxes(const char *data_dir)
{
    CLEANUP(free_p) char *path = xasprintf("%s/boxes", data_dir);
    DIR *d = opendir(path);
    bool is_any = false;
    for (struct dirent *e = d ? readdir(d) : NULL; e && !is_any; e = readdir(d))
        is_any = e->d_name[0] != '.';
    if (d)
        closedir(d);
    return is_any;
}

/* Runs in the child. It gets its own process group: we handle Ctrl-C, then tell the server to shut down. */
static _Noreturn void run_server(char *const *argv, int out_fd, pid_t parent)
{
    (void)setpgid(0, 0);
    if (prctl(PR_SET_PDEATHSIG, SIGTERM) < 0 || getppid() != parent || dup2(out_fd, STDOUT_FILENO) < 0)
        _exit(127);
    (void)execv("/proc/self/exe", argv);
    _exit(127);
}

static int await_ready(struct build_server *b, int fd, struct err *err)
{
    CLEANUP(buf_done) struct buf said = BUF_INIT(65536);
    int64_t deadline = clock_mono_us() + (int64_t)START_MS * 1000;
    char piece[4096];
    while (!b->url) {
        struct pollfd p = { .fd = fd, .events = POLLIN };
        int64_t left = deadline - clock_mono_us();
        if (left <= 0 || (poll(&p, 1, (int)(left / 1000) + 1) < 0 && errno != EINTR))
            return err_set(err, ERR_TIMEOUT, 0, "our own server did not start within %d s", START_MS / 1000);
        ssize_t n = p.revents ? read(fd, piece, sizeof(piece)) : 0;
        if (p.revents && n <= 0)
            return err_set(err, ERR_INTERNAL, 0, "our own server did not start: its message is above");
        if (n <= 0 || buf_add(&said, piece, (size_t)n) < 0)
            continue;
        const char *at = strstr(said.data, "ready rest="); /* "ready rest=http://HOST:PORT engine=…" */
        if (at && strchr(at, '\n'))
            b->url = xstrndup(at + strlen("ready rest="), strcspn(at + strlen("ready rest="), " \n"));
    }
    return 0;
}

static int start_own(struct build_server *b, const char *data_dir, struct err *err)
{
    int pipe_fds[2];
    pid_t parent = getpid();
    if (pipe2(pipe_fds, O_CLOEXEC) < 0)
        return err_set(err, ERR_INTERNAL, errno, "pipe");
    /* Whoever may write the store may use any of its images; a step may run long. */
    (void)setenv("III_ALLOWED_IMAGES", "*", 1);
    (void)setenv("III_MAX_CMD_TIMEOUT", "86400", 0);
    (void)setenv("III_LOG_LEVEL", "error", 0);
    static const char *const tls[] = { "III_TLS_CERT", "III_TLS_KEY", "III_TLS_CLIENT_CA" };
    for (size_t i = 0; i < sizeof(tls) / sizeof(tls[0]); i++)
        (void)unsetenv(tls[i]); /* the private server listens on loopback, where no certificate matches its address */
    (void)fflush(stdout);
    static const char *const words[] = { "iii", "serve",  "--port",    "0",         "--engine-port",
                                         "0",   "--host", "127.0.0.1", "--data-dir" };
    CLEANUP(strlist_free_p) char **argv = NULL;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        strlist_add(&argv, words[i]);
    strlist_add(&argv, data_dir);
    strlist_add(&argv, has_boxes(data_dir) ? "--on-shutdown=keep" : "--on-shutdown=remove");
    b->pid = fork();
    if (b->pid == 0)
        run_server(argv, pipe_fds[1], parent);
    (void)close(pipe_fds[1]);
    int r = b->pid < 0 ? err_set(err, ERR_INTERNAL, errno, "fork") : await_ready(b, pipe_fds[0], err);
    (void)close(pipe_fds[0]);
    return r;
}

/* --- signals --- */

/* What a signal handler may touch. */
static atomic_bool is_signalled;
static int signal_fd = NO_FD; /* an eventfd: wakes the loop */

static void on_signal(int signo)
{
    int saved = errno;
    (void)signo;
    atomic_store(&is_signalled, true);
    (void)eventfd_write(signal_fd, 1); /* cannot be full */
    errno = saved;
}

int build_server_catch(const atomic_bool **ret, struct err *err)
{
    const struct sigaction act = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
    signal_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (signal_fd < 0 || sigaction(SIGINT, &act, NULL) < 0 || sigaction(SIGTERM, &act, NULL) < 0)
        return err_sys(err, -errno, "catch signals");
    *ret = &is_signalled;
    return 0;
}

/* --- calls --- */

static void call_interrupt(void *arg, int events)
{
    struct build_server *b = arg;
    struct waiting *w = b->call;
    eventfd_t n;
    (void)events;
    (void)eventfd_read(signal_fd, &n); /* calls that clean up are not interrupted */
    if (!w)
        return;
    w->is_interrupted = true;
    loop_stop(b->loop);
}

int build_server_open(const char *data_dir, const char *url, struct build_server *ret, struct err *err)
{
    *ret = (struct build_server){ 0 };
    (void)signal(SIGPIPE, SIG_IGN); /* a TLS server that disconnects is an error, not a reason to exit */
    const char *host = getenv("III_HOST"), *port = getenv("III_REST_PORT"), *cert = getenv("III_TLS_CERT");
    int r = 0;
    if (url)
        ret->url = xstrdup(url);
    else if (is_locked(data_dir))
        ret->url = xasprintf("http%s://%s:%s", cert && *cert ? "s" : "", host && *host ? host : "127.0.0.1",
                             port && *port ? port : LIMIT_DEFAULT_TEXT(REST_PORT));
    else
        r = start_own(ret, data_dir, err);
    if (r == 0)
        r = loop_new(&ret->loop, err);
    if (r == 0 && signal_fd >= 0)
        r = watch_new(ret->loop, signal_fd, LOOP_READ, call_interrupt, ret, &ret->signals);
    if (r < 0 && err->code == ERR_NONE)
        (void)err_sys(err, r, "signals");
    return r;
}

void build_server_done(struct build_server *b)
{
    watch_free(b->signals);
    loop_free(b->loop);
    if (b->pid > 0) {
        CLEANUP(close_fd_p) int pidfd = proc_open(b->pid);
        struct pollfd ended = { .fd = pidfd, .events = POLLIN };
        (void)kill(b->pid, SIGTERM);
        if (pidfd < 0 || poll(&ended, 1, STOP_MS) != 1)
            (void)kill(b->pid, SIGKILL);
        (void)waitpid(b->pid, NULL, 0);
    }
    free(b->url);
    *b = (struct build_server){ 0 };
}

static void call_data(void *arg, struct http_client *c, const char *data, size_t len)
{
    struct waiting *w = arg;
    if (buf_add(&w->body, data, len) < 0 && w->err.code == ERR_NONE)
        (void)err_set(&w->err, ERR_TOO_LARGE, 0, "the server's response has more than %zu bytes", w->body.max);
    if (!w->on_event || http_client_status(c) != 200)
        return;
    char *end;
    while (w->body.len && (end = strstr(w->body.data, "\n\n")) != NULL) {
        JSON_OWNED event = NULL;
        char *text = strstr(w->body.data, "data: ");
        if (text && text < end && json_read(text + 6, (size_t)(end - text - 6), &event, NULL) == 0)
            w->on_event(w->event_arg, event);
        buf_consume(&w->body, (size_t)(end + 2 - w->body.data));
    }
}

static void call_done(void *arg, struct http_client *c, const struct err *err)
{
    struct waiting *w = arg;
    w->status = http_client_status(c);
    if (err && w->err.code == ERR_NONE)
        w->err = *err;
    w->is_over = true;
    loop_stop(w->b->loop);
}

static int check_reply(const struct waiting *w, struct err *err)
{
    if (w->is_interrupted)
        return err_set(err, ERR_CAPACITY, EINTR, "the build was stopped");
    if (w->err.code != ERR_NONE) {
        *err = w->err;
        return err_wrap(err, -EIO, "%s", w->b->url);
    }
    if (w->status >= 200 && w->status < 300)
        return 0;
    JSON_OWNED answer = NULL;
    (void)json_read(buf_text(&w->body), w->body.len, &answer, NULL);
    return err_set(err, w->status == 404 ? ERR_NOT_FOUND : ERR_UPSTREAM, 0, "the server answers %d: %.300s", w->status,
                   json_get_str(answer, "error", json_get_str(json_get(answer, "error"), "message", "?")));
}

static int run_call(struct waiting *w, const char *method, const char *path, const json_t *body, struct err *err)
{
    static const struct http_client_events events = { .on_data = call_data, .on_done = call_done };
    CLEANUP(http_client_free_p) struct http_client *client = NULL;
    const char *token = getenv("III_AUTH_TOKEN");
    CLEANUP(free_p) char *url = xasprintf("%s/sandbox%s", w->b->url, path);
    CLEANUP(free_p) char *auth = xasprintf("Authorization: Bearer %s", token ? token : "");
    size_t len = 0;
    CLEANUP(free_p) char *text = body ? json_write(body, &len) : NULL;
    const char *headers[] = { "Content-Type: application/json", token && *token ? auth : NULL, NULL };
    const struct tls_context_trust trust = { getenv("III_CA_CERT"), getenv("III_CLIENT_CERT"),
                                             getenv("III_CLIENT_KEY") };
    const struct http_client_request req = { .method = method,
                                             .url = url,
                                             .headers = headers,
                                             .body = text,
                                             .body_len = len,
                                             .timeout_ms = w->on_event ? -1 : CALL_MS,
                                             .body_max = 0,
                                             .trust = &trust,
                                             .rule = outgoing_any };
    int r = http_client_start(w->b->loop, &req, &events, w, &client, err);
    if (r < 0)
        return r;
    w->b->call = w;
    loop_run(w->b->loop);
    w->b->call = NULL;
    if (w->is_over)
        (void)STEAL(client); /* the client freed itself */
    return check_reply(w, err);
}

int build_server_call(struct build_server *b, const char *method, const char *path, const json_t *body, json_t **ret,
                      struct err *err)
{
    struct waiting w = { .b = b, .body = BUF_INIT(ANSWER_MAX), .err = ERR_INIT };
    int r = run_call(&w, method, path, body, err);
    if (r == 0 && ret)
        r = json_read(buf_text(&w.body), w.body.len, ret, err);
    buf_done(&w.body);
    return r;
}

int build_server_stream(struct build_server *b, const char *path, const json_t *body, build_server_event_fn *fn,
                        void *arg, struct err *err)
{
    struct waiting w = { .b = b, .body = BUF_INIT(LINE_MAX_BYTES), .on_event = fn, .event_arg = arg, .err = ERR_INIT };
    int r = run_call(&w, "POST", path, body, err);
    buf_done(&w.body);
    return r;
}
