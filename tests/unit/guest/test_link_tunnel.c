/* Tunnels through a real agent to sockets of this test on loopback. */
#include "agent_rig.h"

#include <arpa/inet.h>
#include <netinet/in.h>

static void on_open(void *arg)
{
    struct rig *r = arg;
    r->opens++;
    rig_wake(r);
}

static void on_data(void *arg, const char *data, size_t len)
{
    struct rig *r = arg;
    CHECK_INT(buf_add(&r->out, data, len), 0);
    r->exits++; /* counts frames here */
    if (r->does_credit)
        guest_tunnel_credit(r->tunnel, len);
    rig_wake(r);
}

static void on_eof(void *arg)
{
    struct rig *r = arg;
    r->eofs++;
    rig_wake(r);
}

static const struct guest_tunnel_events events = {
    .on_open = on_open, .on_data = on_data, .on_eof = on_eof, .on_closed = rig_on_done
};

/* A bound socket of 127.0.0.1 and its port. */
static int bind_loopback(int type, uint16_t *ret_port)
{
    struct sockaddr_in sa = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t len = sizeof(sa);
    int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);
    CHECK(fd >= 0);
    CHECK_INT(bind(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
    CHECK_INT(getsockname(fd, (struct sockaddr *)&sa, &len), 0);
    if (type == SOCK_STREAM)
        CHECK_INT(listen(fd, 5), 0);
    *ret_port = ntohs(sa.sin_port);
    return fd;
}

/* An open tunnel and the other end of its connection. */
static int connect_tunnel(struct rig *r)
{
    uint16_t port;
    int server = bind_loopback(SOCK_STREAM, &port);
    CHECK_INT(guest_tunnel_open(r->g, false, NULL, port, &events, r, &r->tunnel), 0);
    rig_wait(r, &r->opens, r->opens + 1);
    int fd = accept4(server, NULL, NULL, SOCK_CLOEXEC);
    CHECK(fd >= 0);
    close(server);
    return fd;
}

TEST(bytes_go_both_ways_and_ends_are_told)
{
    struct rig r;
    char mem[16] = "";
    rig_init(&r);
    int fd = connect_tunnel(&r);
    CHECK_INT(guest_tunnel_send(r.tunnel, "to", 2), 2);
    CHECK_INT(recv(fd, mem, sizeof(mem), 0), 2);
    CHECK_INT(send(fd, "from", 4, 0), 4);
    rig_wait(&r, &r.exits, 1);
    CHECK_STR(buf_text(&r.out), "from");
    CHECK_INT(shutdown(fd, SHUT_WR), 0);
    rig_wait(&r, &r.eofs, 1);
    CHECK_INT(guest_tunnel_send(r.tunnel, "more", 4), 4); /* half closed: the other way still works */
    CHECK_INT(recv(fd, mem, sizeof(mem), 0), 4);
    guest_tunnel_shutdown(r.tunnel);
    CHECK_INT(recv(fd, mem, sizeof(mem), 0), 0);
    rig_wait(&r, &r.done, 1);
    CHECK_INT(r.err.code, 0);
    close(fd);
    rig_done(&r);
}

TEST(a_refused_port_is_an_upstream_error)
{
    struct rig r;
    uint16_t port;
    rig_init(&r);
    close(bind_loopback(SOCK_DGRAM, &port)); /* nobody listens there now */
    CHECK_INT(guest_tunnel_open(r.g, false, "127.0.0.1", port, &events, &r, &r.tunnel), 0);
    rig_wait(&r, &r.done, 1);
    CHECK_INT(r.err.code, ERR_UPSTREAM);
    CHECK_INT(r.opens, 0);
    rig_done(&r);
}

TEST(data_sent_before_it_opened_arrives)
{
    struct rig r;
    uint16_t port;
    char mem[16] = "";
    rig_init(&r);
    int server = bind_loopback(SOCK_STREAM, &port);
    CHECK_INT(guest_tunnel_open(r.g, false, NULL, port, &events, &r, &r.tunnel), 0);
    CHECK_INT(guest_tunnel_send(r.tunnel, "early", 5), 5);
    rig_wait(&r, &r.opens, 1);
    int fd = accept4(server, NULL, NULL, SOCK_CLOEXEC);
    CHECK_INT(recv(fd, mem, sizeof(mem), 0), 5);
    CHECK_STR(mem, "early");
    close(fd);
    close(server);
    rig_done(&r);
}

static void send_more(void *arg)
{
    static char chunk[65536];
    struct rig *r = arg;
    for (size_t n = 1; n && r->writable < 3000000;) {
        n = guest_tunnel_send(r->tunnel, chunk, sizeof(chunk));
        r->writable += (int)n;
    }
    if (r->writable >= 3000000)
        guest_tunnel_shutdown(r->tunnel);
}

/* Echoes everything until the end, in a process of its own. */
static pid_t start_echo(int fd)
{
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    char mem[65536];
    for (ssize_t n; (n = read(fd, mem, sizeof(mem))) > 0;)
        for (ssize_t at = 0, w; at < n; at += w)
            if ((w = write(fd, mem + at, (size_t)(n - at))) <= 0)
                _exit(1);
    _exit(0);
}

TEST(megabytes_are_echoed_through)
{
    struct rig r;
    int status = -1;
    rig_init(&r);
    int fd = connect_tunnel(&r);
    pid_t echo = start_echo(fd);
    close(fd);
    guest_tunnel_on_writable(r.tunnel, send_more, &r);
    send_more(&r);
    rig_wait(&r, &r.done, 1);
    CHECK_INT(r.err.code, 0);
    CHECK_INT(r.out.len, r.writable);
    CHECK_INT(waitpid(echo, &status, 0), echo);
    CHECK_INT(status, 0);
    rig_done(&r);
}

TEST(datagrams_keep_their_bounds)
{
    struct rig r;
    struct sockaddr_in from;
    socklen_t len = sizeof(from);
    uint16_t port;
    char mem[16] = "";
    rig_init(&r);
    int fd = bind_loopback(SOCK_DGRAM, &port);
    CHECK_INT(guest_tunnel_open(r.g, true, NULL, port, &events, &r, &r.tunnel), 0);
    rig_wait(&r, &r.opens, 1);
    CHECK_INT(guest_tunnel_send(r.tunnel, "one", 3), 3);
    CHECK_INT(guest_tunnel_send(r.tunnel, "four", 4), 4);
    CHECK_INT(recvfrom(fd, mem, sizeof(mem), 0, (struct sockaddr *)&from, &len), 3);
    CHECK_INT(recv(fd, mem, sizeof(mem), 0), 4);
    CHECK_INT(sendto(fd, "ab", 2, 0, (struct sockaddr *)&from, len), 2);
    CHECK_INT(sendto(fd, "c", 1, 0, (struct sockaddr *)&from, len), 1);
    rig_wait(&r, &r.exits, 2);
    CHECK_STR(buf_text(&r.out), "abc");
    CHECK_INT(r.exits, 2);
    guest_tunnel_drop(r.tunnel);
    CHECK_INT(rig_result(&r, guest_ping(r.g, rig_on_done, &r)), 0);
    close(fd);
    rig_done(&r);
}

TEST(a_dropped_tunnel_closes_its_connection)
{
    struct rig r;
    char c;
    rig_init(&r);
    int fd = connect_tunnel(&r);
    guest_tunnel_drop(r.tunnel);
    CHECK_INT(rig_result(&r, guest_ping(r.g, rig_on_done, &r)), 0);
    CHECK(recv(fd, &c, 1, 0) <= 0);
    close(fd);
    rig_done(&r);
}

TEST(a_tunnel_without_credit_holds_one_window)
{
    static char data[4u << 20];
    struct rig r;
    rig_init(&r);
    r.does_credit = false;
    int fd = connect_tunnel(&r);
    struct timer *t = timer_new(r.loop, RIG_WAIT_MS, 0, rig_timeout, &r);
    while (r.out.len <= GUEST_WINDOW / 2 && !r.is_timed_out) {
        (void)send(fd, data, sizeof(data), MSG_DONTWAIT); /* as much as the buffers on the way take */
        loop_run(r.loop);
    }
    CHECK(!r.is_timed_out);
    timer_free(t);
    (void)send(fd, data, sizeof(data), MSG_DONTWAIT);
    rig_run(&r, 200);
    CHECK(r.out.len <= GUEST_WINDOW);
    close(fd);
    rig_done(&r);
}

int main(void)
{
    if (!rig_program()) {
        printf("1..0 # SKIP III_GUEST names no agent program\n");
        return 0;
    }
    RUN(bytes_go_both_ways_and_ends_are_told);
    RUN(a_refused_port_is_an_upstream_error);
    RUN(data_sent_before_it_opened_arrives);
    RUN(megabytes_are_echoed_through);
    RUN(datagrams_keep_their_bounds);
    RUN(a_dropped_tunnel_closes_its_connection);
    RUN(a_tunnel_without_credit_holds_one_window);
    return tap_done();
}
