#include "vm/vmm/firecracker_api.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/list.h"
#include "base/utf8.h"
#include "http/client.h"
#include "os/unixsock.h"
#include "vm/vmm/vsock_connect.h"

#define PROBE_MS 10

struct job {
    struct job *next;
    char method[8], path[48];
    char *body;
    size_t body_len;
    int64_t timeout_ms;
    firecracker_api_fn *fn;
    void *arg;
};

struct firecracker_api {
    struct loop *loop;
    int folder_fd, socket_fd; /* socket_fd: O_PATH, once it was found */
    char *name;
    struct http_client *http; /* of the first job; NULL: not started */
    struct job *first;
    struct buf answer;
    struct timer *turn; /* starts the first job from the loop */
    struct timer *probe, *deadline;
    firecracker_api_fn *wait_fn;
    void *wait_arg;
};

/* --- what it says --- */

/* Replaces control characters, which must not reach a terminal or a log, and cuts only between characters. */
static void copy_text(char *to, size_t size, const char *from)
{
    size_t n = strlen(from);
    n = utf8_whole(from, n < size ? n : size - 1);
    memcpy(to, from, n);
    to[n] = '\0';
    for (char *c = to; *c; c++) {
        if ((unsigned char)c[0] == 0xc2 && (unsigned char)c[1] >= 0x80 && (unsigned char)c[1] < 0xa0)
            c[0] = c[1] = ' '; /* U+0080 to U+009F: terminals take some for the start of a control sequence */
        else if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = ' ';
    }
}

void firecracker_api_fault(const char *method, const char *path, int status, const char *body, size_t len,
                           struct err *err)
{
    JSON_OWNED answer = NULL;
    char text[FIRECRACKER_API_FAULT_MAX + 1] = "it gives no reason";
    if (len && json_read(body, len, &answer, NULL) == 0)
        copy_text(text, sizeof(text), json_get_str(answer, "fault_message", "it gives no reason"));
    (void)err_set(err, ERR_UPSTREAM, 0, "Firecracker answers %s %s with %d: %s", method, path, status, text);
}

/* --- calls --- */

static void job_free(struct job *j)
{
    free(j->body);
    free(j);
}

static void job_finish(struct firecracker_api *c, json_t *answer, const struct err *err)
{
    struct job *j = c->first;
    firecracker_api_fn *fn = j->fn;
    void *arg = j->arg;
    c->first = j->next;
    job_free(j);
    if (c->first)
        timer_set(c->turn, 0, 0);
    fn(arg, answer, err); /* may free c */
}

static void job_on_data(void *arg, struct http_client *http, const char *data, size_t len)
{
    struct firecracker_api *c = arg;
    (void)http;
    (void)buf_add(&c->answer, data, len); /* bounded by body_max */
}

static void job_on_done(void *arg, struct http_client *http, const struct err *err)
{
    struct firecracker_api *c = arg;
    const struct job *j = c->first;
    bool is_get = strcmp(j->method, "GET") == 0;
    struct err why = ERR_INIT;
    JSON_OWNED answer = NULL;
    int status = err ? 0 : http_client_status(http);
    c->http = NULL;
    if (err)
        (void)err_set(&why, err->code == ERR_TIMEOUT ? ERR_TIMEOUT : ERR_UPSTREAM, 0, "Firecracker, %s %s: %.200s",
                      j->method, j->path, err->msg);
    else if (status != (is_get ? 200 : 204))
        firecracker_api_fault(j->method, j->path, status, buf_text(&c->answer), c->answer.len, &why);
    else if (is_get && (json_read(buf_text(&c->answer), c->answer.len, &answer, NULL) < 0 || !json_is_object(answer)))
        (void)err_set(&why, ERR_UPSTREAM, 0, "Firecracker answers GET %s with something that is not a JSON object",
                      j->path);
    job_finish(c, why.code ? NULL : answer, why.code ? &why : NULL);
}

static void on_turn(void *arg)
{
    static const struct http_client_events events = { .on_data = job_on_data, .on_done = job_on_done };
    static const char *const headers[] = { "Accept: application/json", "Content-Type: application/json", NULL };
    struct firecracker_api *c = arg;
    const struct job *j = c->first;
    struct err err = ERR_INIT;
    char path[40];
    if (!j || c->http)
        return;
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", c->socket_fd);
    struct http_client_request req = { .method = j->method,
                                       .url = j->path,
                                       .unix_path = path,
                                       .headers = headers,
                                       .body = j->body,
                                       .body_len = j->body_len,
                                       .timeout_ms = j->timeout_ms,
                                       .body_max = FIRECRACKER_API_ANSWER_MAX };
    buf_clear(&c->answer);
    if (c->socket_fd < 0)
        (void)err_set(&err, ERR_UPSTREAM, ENOTCONN, "Firecracker's API socket does not exist");
    if (err.code || http_client_start(c->loop, &req, &events, c, &c->http, &err) < 0)
        job_finish(c, NULL, &err);
}

void firecracker_api_run(struct firecracker_api *c, const struct firecracker_api_request *req, firecracker_api_fn *fn,
                         void *arg)
{
    struct job *j = xzalloc(sizeof(*j));
    *j = (struct job){ .timeout_ms = req->timeout_ms, .fn = fn, .arg = arg };
    (void)snprintf(j->method, sizeof(j->method), "%s", req->method);
    (void)snprintf(j->path, sizeof(j->path), "%s", req->path);
    if (req->body)
        j->body = json_write(req->body, &j->body_len);
    json_decref(req->body);
    LIST_APPEND(c->first, j);
    if (c->first == j)
        timer_set(c->turn, 0, 0);
}

/* --- the socket --- */

static int socket_probe(const struct firecracker_api *c)
{
    CLEANUP(close_fd_p) int there = vsock_connect_find(c->folder_fd, c->name);
    CLEANUP(close_fd_p) int fd = there < 0 ? there : unixsock_dial_at(there);
    return fd < 0 ? fd : steal_fd(&there);
}

static void end_wait(struct firecracker_api *c, const struct err *err)
{
    timer_set(c->probe, -1, 0);
    timer_set(c->deadline, -1, 0);
    c->wait_fn(c->wait_arg, NULL, err);
}

static void socket_on_probe(void *arg)
{
    struct firecracker_api *c = arg;
    int fd = socket_probe(c);
    if (fd < 0)
        return;
    if (c->socket_fd >= 0)
        (void)close(c->socket_fd); /* O_PATH: only a reference */
    c->socket_fd = fd;
    end_wait(c, NULL);
}

static void wait_on_deadline(void *arg)
{
    struct firecracker_api *c = arg;
    struct err err = ERR_INIT;
    int r = socket_probe(c);
    if (r >= 0)
        (void)close(r);
    (void)err_set(&err, ERR_TIMEOUT, r < 0 ? -r : 0, "Firecracker does not open its API socket");
    end_wait(c, &err);
}

void firecracker_api_wait(struct firecracker_api *c, int64_t timeout_ms, firecracker_api_fn *fn, void *arg)
{
    c->wait_fn = fn;
    c->wait_arg = arg;
    timer_set(c->probe, 0, PROBE_MS);
    timer_set(c->deadline, timeout_ms, 0);
}

/* --- making and ending --- */

struct firecracker_api *firecracker_api_new(struct loop *l, int folder_fd, const char *name)
{
    struct firecracker_api *c = xzalloc(sizeof(*c));
    *c = (struct firecracker_api){ .loop = l, .folder_fd = folder_fd, .socket_fd = NO_FD, .name = xstrdup(name) };
    buf_init(&c->answer, FIRECRACKER_API_ANSWER_MAX);
    c->turn = timer_new(l, -1, 0, on_turn, c);
    c->probe = timer_new(l, -1, 0, socket_on_probe, c);
    c->deadline = timer_new(l, -1, 0, wait_on_deadline, c);
    return c;
}

struct firecracker_api *firecracker_api_free(struct firecracker_api *c)
{
    if (!c)
        return NULL;
    http_client_free(c->http);
    while (c->first) {
        struct job *j = c->first;
        c->first = j->next;
        job_free(j);
    }
    timer_free(c->turn);
    timer_free(c->probe);
    timer_free(c->deadline);
    if (c->socket_fd >= 0)
        (void)close(c->socket_fd); /* O_PATH: only a reference */
    buf_done(&c->answer);
    free(c->name);
    free(c);
    return NULL;
}
