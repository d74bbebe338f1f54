#include "agent/service_probe.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "guest/proto.h"

#define FIRST_MS   10   /* before the second check; doubled up to the interval */
#define ATTEMPT_MS 5000 /* an attempt that takes longer is given up */

#define PROBE_OF(ptr, field) ((struct agent_probe *)((char *)(ptr)-offsetof(struct agent_probe, field)))

static void attempt_end(struct agent_probe *p)
{
    agent_loop_close(&p->agent->loop, &p->sock);
    if (p->exec)
        agent_exec_disown(p->exec);
    p->exec = NULL;
    p->attempt_ms = 0;
}

void agent_probe_stop(struct agent_probe *p)
{
    if (!p->agent)
        return;
    attempt_end(p);
    agent_loop_disarm(&p->agent->loop, &p->tick);
    p->agent = NULL;
}

static void probe_finish(struct agent_probe *p, bool is_ready)
{
    agent_probe_stop(p);
    p->fn(p, is_ready);
}

static void connect_to(struct agent_probe *p);

/* The address did not answer: the other one is tried at once, then both again at the next check. */
static void attempt_failed(struct agent_probe *p)
{
    bool has_next = p->sock.fd >= 0 && !p->is_v6;

    attempt_end(p);
    p->is_v6 = has_next;
    if (has_next)
        connect_to(p);
}

static void send_request(struct agent_probe *p)
{
    char request[PROTO_PATH_MAX + 128];
    int len = snprintf(request, sizeof(request), "GET %s HTTP/1.0\r\nHost: localhost:%u\r\n\r\n", p->plan->path,
                       p->plan->port);

    p->is_sent = send(p->sock.fd, request, (size_t)len, MSG_NOSIGNAL) == len;
    if (!p->is_sent || agent_loop_watch(&p->agent->loop, &p->sock, EPOLLIN) < 0)
        attempt_failed(p);
}

static void read_status(struct agent_probe *p)
{
    ssize_t n = read(p->sock.fd, p->head + p->n, sizeof(p->head) - p->n);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    p->n += n > 0 ? (size_t)n : 0;
    if (n > 0 && p->n < sizeof(p->head))
        return;
    bool is_status = p->n == sizeof(p->head) && memcmp(p->head, "HTTP/1.", 7) == 0 && p->head[8] == ' ';
    if (is_status && (p->head[9] == '2' || p->head[9] == '3') && isdigit((unsigned char)p->head[10]))
        probe_finish(p, true);
    else
        attempt_failed(p);
}

static void on_socket(struct agent_watch *w, uint32_t events)
{
    struct agent_probe *p = PROBE_OF(w, sock);
    int error = 0;
    socklen_t len = sizeof(error);

    (void)events;
    if (p->is_sent) {
        read_status(p);
        return;
    }
    if (getsockopt(w->fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0 || error)
        attempt_failed(p);
    else if (p->plan->kind == PROTO_READY_HTTP)
        send_request(p);
    else
        probe_finish(p, true);
}

static void connect_to(struct agent_probe *p)
{
    struct sockaddr_in v4 = { .sin_family = AF_INET,
                              .sin_port = htons(p->plan->port),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    struct sockaddr_in6 v6 = { .sin6_family = AF_INET6,
                               .sin6_port = htons(p->plan->port),
                               .sin6_addr = IN6ADDR_LOOPBACK_INIT };
    const struct sockaddr *to = p->is_v6 ? (const struct sockaddr *)&v6 : (const struct sockaddr *)&v4;

    p->is_sent = false;
    p->n = 0;
    p->sock.fn = on_socket;
    p->sock.fd = socket(to->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (p->sock.fd < 0)
        return; /* out of descriptors, or no such family: asked again at the next check */
    int r = connect(p->sock.fd, to, p->is_v6 ? sizeof(v6) : sizeof(v4));
    if ((r < 0 && errno != EINPROGRESS) || agent_loop_watch(&p->agent->loop, &p->sock, EPOLLOUT) < 0)
        attempt_failed(p);
}

static void on_command_end(void *arg, const struct proto_exit *end)
{
    struct agent_probe *p = arg;

    p->exec = NULL;
    if (end->code == 0)
        probe_finish(p, true);
}

static void run_command(struct agent_probe *p)
{
    char why[64]; /* a command that cannot be started is not ready, and tried again */
    struct agent_reply r = { .agent = p->agent, .pipe_fd = -EBADF, .text = why, .text_size = sizeof(why) };
    const struct agent_exec_owner owner = { .on_end = on_command_end, .arg = p };

    p->exec = agent_exec_run(&r, &owner, p->plan->launch, p->plan->launch_len, p->plan->argv);
}

static void on_tick(struct agent_timer *t)
{
    struct agent_probe *p = PROBE_OF(t, tick);

    if (p->elapsed_ms >= p->plan->timeout_ms) {
        probe_finish(p, false);
        return;
    }
    agent_loop_arm(&p->agent->loop, &p->tick, p->pause_ms);
    p->elapsed_ms += p->pause_ms;
    p->attempt_ms += p->pause_ms;
    p->pause_ms = p->pause_ms * 2 < p->plan->interval_ms ? p->pause_ms * 2 : p->plan->interval_ms;
    if (p->attempt_ms > ATTEMPT_MS)
        attempt_end(p);
    if (p->exec || p->sock.fd >= 0)
        return;
    p->attempt_ms = 0;
    p->is_v6 = false;
    if (p->plan->kind == PROTO_READY_COMMAND)
        run_command(p);
    else
        connect_to(p);
}

void agent_probe_start(struct agent_probe *p, struct agent *a, const struct agent_probe_plan *plan,
                       void (*fn)(struct agent_probe *p, bool is_ready))
{
    *p = (struct agent_probe){
        .agent = a, .plan = plan, .fn = fn, .tick.fn = on_tick, .sock.fd = -EBADF, .pause_ms = FIRST_MS
    };
    agent_loop_arm(&a->loop, &p->tick, 0);
}
