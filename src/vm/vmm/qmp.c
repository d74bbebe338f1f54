#include "vm/vmm/qmp.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/list.h"
#include "os/seqsock.h"
#include "os/unixsock.h"

#define LINE_MAX_BYTES (256u * 1024)

struct command {
    struct command *next;
    char *text;
    size_t len;
    int fd; /* a copy of our own, or NO_FD */
    char name[40];
    struct qmp_then then;
};

struct qmp {
    struct loop *loop;
    int fd;
    struct watch *watch;
    struct timer *fault; /* reports a loss from the loop, never from inside a call */
    struct buf in;
    struct command *first; /* the first is sent when is_sent */
    bool is_sent, has_handshake, is_lost, is_inside, is_closed;
    qmp_event_fn *on_event;
    loop_fn *on_lost;
    void *arg;
};

static void command_free(struct command *c)
{
    if (c->fd >= 0)
        (void)close(c->fd); /* our copy; QEMU has its own */
    if (c->then.is_owned)
        free(c->then.arg);
    free(c->text);
    free(c);
}

static void command_answer(struct qmp *q, json_t *value, const struct err *err)
{
    struct command *c = q->first;
    q->first = c->next;
    q->is_sent = false;
    struct qmp_then then = c->then;
    c->then.is_owned = false; /* fn frees it from here on */
    command_free(c);
    if (then.fn)
        then.fn(then.arg, value, err);
}

static void connection_lose(struct qmp *q, const char *why)
{
    struct err err = ERR_INIT;
    if (q->is_lost)
        return;
    q->is_lost = true;
    q->watch = watch_free(q->watch);
    (void)err_set(&err, ERR_UPSTREAM, EPIPE, "the VMM: %s", why);
    while (q->first && !q->is_closed)
        command_answer(q, NULL, &err);
    if (!q->is_closed && q->on_lost)
        q->on_lost(q->arg);
}

static void qmp_free(struct qmp *q)
{
    while (q->first) {
        struct command *c = q->first;
        q->first = c->next;
        command_free(c);
    }
    watch_free(q->watch);
    timer_free(q->fault);
    (void)close(q->fd); /* QEMU keeps listening */
    buf_done(&q->in);
    free(q);
}

static void on_fault(void *arg)
{
    struct qmp *q = arg;
    struct err err = ERR_INIT;
    q->is_inside = true;
    connection_lose(q, "does not take commands");
    (void)err_set(&err, ERR_UPSTREAM, EPIPE, "the VMM is gone");
    while (q->first && !q->is_closed)
        command_answer(q, NULL, &err);
    q->is_inside = false;
    if (q->is_closed)
        qmp_free(q);
}

/* Commands are short and QEMU reads at once: if one does not fit into an empty socket buffer, the peer is broken. */
static void command_send_next(struct qmp *q)
{
    struct command *c = q->first;
    if (c && q->is_lost)
        timer_set(q->fault, 0, 0);
    if (!c || q->is_sent || q->is_lost || !q->has_handshake)
        return;
    struct iovec parts[2] = { { c->text, c->len }, { NULL, 0 } };
    q->is_sent = true;
    if (seqsock_send(q->fd, parts, &c->fd, c->fd >= 0) < 0)
        timer_set(q->fault, 0, 0);
}

static void take_line(struct qmp *q, const char *line, size_t len)
{
    JSON_OWNED msg = NULL;
    struct err err = ERR_INIT;
    if (len == 0)
        return;
    if (json_read(line, len, &msg, &err) < 0 || !json_is_object(msg)) {
        connection_lose(q, "sent something that is not a JSON object");
        return;
    }
    json_t *value = json_object_get(msg, "return"), *error = json_get(msg, "error");
    const char *event = json_get_str(msg, "event", NULL);
    if (json_get(msg, "QMP")) {
        q->has_handshake = true;
    } else if (event) {
        if (q->on_event)
            q->on_event(q->arg, event, json_get(msg, "data"));
    } else if ((value || error) && q->first && q->is_sent) {
        char why[201];
        (void)snprintf(why, sizeof(why), "%s", json_get_str(error, "desc", "no reason given"));
        for (char *p = why; *p; p++)
            if (*p < ' ' || *p > '~')
                *p = '?'; /* it goes into an error message */
        if (error)
            (void)err_set(&err, ERR_UPSTREAM, 0, "%s: %s", q->first->name, why);
        command_answer(q, error ? NULL : value, error ? &err : NULL);
    } else {
        connection_lose(q, "answers what nobody asked");
    }
}

static void take_lines(struct qmp *q)
{
    for (char *end; !q->is_lost && !q->is_closed && q->in.len && (end = memchr(q->in.data, '\n', q->in.len));) {
        size_t len = (size_t)(end - q->in.data), whole = len + 1;
        if (len && q->in.data[len - 1] == '\r')
            len--;
        CLEANUP(free_p) char *line = xstrndup(q->in.data, len);
        buf_consume(&q->in, whole);
        take_line(q, line, strlen(line));
        if (!q->is_closed)
            command_send_next(q);
    }
}

static void on_readable(void *arg, int events)
{
    struct qmp *q = arg;
    char piece[16384];
    (void)events;
    ssize_t n = read(q->fd, piece, sizeof(piece));
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    q->is_inside = true;
    if (n <= 0)
        connection_lose(q, "has gone");
    else if (buf_add(&q->in, piece, (size_t)n) < 0)
        connection_lose(q, "sends a line that is too long");
    else
        take_lines(q);
    q->is_inside = false;
    if (q->is_closed)
        qmp_free(q);
}

int qmp_open(const struct qmp_options *opt, struct qmp **ret, struct err *err)
{
    CLEANUP(close_fd_p) int fd = unixsock_dial(opt->path);
    if (fd < 0)
        return err_sys(err, fd, "connect to the VMM");
    struct qmp *q = xzalloc(sizeof(*q));
    *q = (struct qmp){
        .loop = opt->loop, .fd = fd, .on_event = opt->on_event, .on_lost = opt->on_lost, .arg = opt->arg
    };
    buf_init(&q->in, LINE_MAX_BYTES);
    int r = watch_new(opt->loop, fd, LOOP_READ, on_readable, q, &q->watch);
    if (r < 0) {
        q->fd = NO_FD;
        buf_done(&q->in);
        free(q);
        return err_sys(err, r, "watch the VMM");
    }
    (void)steal_fd(&fd);
    q->fault = timer_new(opt->loop, -1, 0, on_fault, q);
    qmp_run(q, "qmp_capabilities", NULL, NO_FD, (struct qmp_then){ 0 });
    *ret = q;
    return 0;
}

struct qmp *qmp_close(struct qmp *q)
{
    if (!q)
        return NULL;
    q->is_closed = true;
    q->watch = watch_free(q->watch);
    if (!q->is_inside)
        qmp_free(q);
    return NULL;
}

void qmp_run(struct qmp *q, const char *command, json_t *args, int fd, struct qmp_then then)
{
    JSON_OWNED msg = json_pack("{s:s}", "execute", command);
    if (args)
        (void)json_object_set_new(msg, "arguments", args);
    struct command *c = xzalloc(sizeof(*c));
    *c = (struct command){ .fd = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 3) : NO_FD, .then = then };
    c->text = json_write(msg, &c->len);
    (void)snprintf(c->name, sizeof(c->name), "%s", command);
    LIST_APPEND(q->first, c);
    command_send_next(q);
}
