#include "agent/listening.h"

#include <arpa/inet.h>
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/file.h"

enum {
    FIRST_MS = 10,
    LONGEST_MS = 10000,
    STATE_LISTEN = 10, /* TCP_LISTEN of the kernel, which musl does not have */
    LINKS_MAX = 16384, /* descriptors of processes that one search for names reads */
    LINES_MAX = 65536, /* lines of /proc/net/tcp */
    REPLY_MAX = 32 * 1024
};

struct socket_row {
    uint64_t inode;
    uint32_t pid;
    uint16_t port;
    char address[INET6_ADDRSTRLEN];
    char program[17];
};

struct table {
    size_t n;
    struct socket_row rows[PROTO_LISTENERS_MAX];
};

struct agent_listening {
    struct agent *agent;
    struct agent_timer look;
    uint64_t pause_ms;
    int fd;
    size_t n;
    struct socket_row *known;
};

/* --- the kernel's list --- */

static int compare(const void *a, const void *b)
{
    const struct socket_row *x = a, *y = b;

    return x->port != y->port ? (x->port < y->port ? -1 : 1) : strcmp(x->address, y->address);
}

static void add_row(struct table *t, uint16_t port, uint64_t inode, int family, const void *address)
{
    struct socket_row row = { .inode = inode, .port = port };

    if (!port || t->n == PROTO_LISTENERS_MAX || !inet_ntop(family, address, row.address, sizeof(row.address)))
        return;
    for (size_t i = 0; i < t->n; i++)
        if (compare(&t->rows[i], &row) == 0) /* SO_REUSEPORT */
            return;
    t->rows[t->n++] = row;
}

int agent_listening_socket(void)
{
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG);

    return fd < 0 ? -errno : fd;
}

static void take_diag(struct table *t, struct nlmsghdr *h)
{
    struct inet_diag_msg m;

    if (h->nlmsg_type != SOCK_DIAG_BY_FAMILY || h->nlmsg_len < NLMSG_LENGTH(sizeof(m)))
        return;
    memcpy(&m, NLMSG_DATA(h), sizeof(m));
    if (m.idiag_state == STATE_LISTEN)
        add_row(t, ntohs(m.id.idiag_sport), m.idiag_inode, m.idiag_family, m.id.idiag_src);
}

/* The kernel answers while we send and receive, so nothing here waits. */
static int read_diag(int fd, uint8_t family, struct table *t)
{
    struct {
        struct nlmsghdr head;
        struct inet_diag_req_v2 request;
    } ask = { .head = { .nlmsg_len = sizeof(ask),
                        .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                        .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
              .request = {
                  .sdiag_family = family, .sdiag_protocol = IPPROTO_TCP, .idiag_states = 1u << STATE_LISTEN } };
    _Alignas(struct nlmsghdr) char reply[REPLY_MAX];

    if (send(fd, &ask, sizeof(ask), MSG_NOSIGNAL) != (ssize_t)sizeof(ask))
        return -errno;
    for (;;) {
        ssize_t left = recv(fd, reply, sizeof(reply), MSG_DONTWAIT);
        if (left <= 0)
            return left < 0 ? -errno : -EPIPE;
        for (struct nlmsghdr *h = (struct nlmsghdr *)reply; NLMSG_OK(h, (size_t)left); h = NLMSG_NEXT(h, left)) {
            if (h->nlmsg_type == NLMSG_ERROR)
                return -EOPNOTSUPP;
            if (h->nlmsg_type == NLMSG_DONE)
                return 0;
            take_diag(t, h);
        }
    }
}

/* One line of /proc/net/tcp or tcp6: "  0: 0100007F:1F90 00000000:0000 0A 0:0 0:0 0 UID 0 INODE …" */
static void take_line(struct table *t, const char *line, bool is_v6)
{
    char hex[33], port[5], state[3], inode[21];
    uint32_t address[4] = { 0 };

    if (sscanf(line, " %*s %32[0-9A-F]:%4[0-9A-F] %*s %2[0-9A-F] %*s %*s %*s %*s %*s %20[0-9]", hex, port, state,
               inode) != 4 ||
        strtoul(state, NULL, 16) != STATE_LISTEN || strlen(hex) != (is_v6 ? 32 : 8))
        return;
    for (size_t i = 0; i < strlen(hex) / 8; i++) {
        char word[9];
        memcpy(word, hex + i * 8, 8);
        word[8] = '\0';
        address[i] = (uint32_t)strtoul(word, NULL, 16); /* in the kernel's own byte order, as it is in memory */
    }
    add_row(t, (uint16_t)strtoul(port, NULL, 16), strtoull(inode, NULL, 10), is_v6 ? AF_INET6 : AF_INET, address);
}

static void read_proc_net(const char *path, bool is_v6, struct table *t)
{
    char line[512];
    FILE *f = fopen(path, "re");

    for (int i = 0; f && i < LINES_MAX && fgets(line, sizeof(line), f); i++)
        take_line(t, line, is_v6);
    if (f)
        (void)fclose(f);
}

static void read_sockets(struct agent_listening *l, struct table *t)
{
    if (l->fd >= 0 && (read_diag(l->fd, AF_INET, t) < 0 || read_diag(l->fd, AF_INET6, t) < 0)) {
        (void)close(l->fd); /* a kernel that does not answer this will not later */
        l->fd = -EBADF;
        t->n = 0;
    }
    if (l->fd < 0) {
        read_proc_net("/proc/net/tcp", false, t);
        read_proc_net("/proc/net/tcp6", true, t);
    }
    qsort(t->rows, t->n, sizeof(t->rows[0]), compare);
}

/* --- whose they are --- */

static struct socket_row *find_inode(struct table *t, const char *link)
{
    static const char kind[] = "socket:[";

    if (strncmp(link, kind, sizeof(kind) - 1) != 0)
        return NULL;
    unsigned long long inode = strtoull(link + sizeof(kind) - 1, NULL, 10);
    for (size_t i = 0; i < t->n; i++)
        if (!t->rows[i].pid && t->rows[i].inode == inode)
            return &t->rows[i];
    return NULL;
}

/* Names the sockets that a process has open; those of other users stay without a name. */
static void search_process(struct table *t, int proc, const char *pid, int *left)
{
    char path[48], link[64];

    (void)snprintf(path, sizeof(path), "%.10s/fd", pid);
    int fd = openat(proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    for (struct dirent *d; dir && (*left)-- > 0 && (d = readdir(dir));) {
        ssize_t n = readlinkat(fd, d->d_name, link, sizeof(link) - 1);
        link[n > 0 ? n : 0] = '\0';
        struct socket_row *row = find_inode(t, link);
        if (!row)
            continue;
        row->pid = (uint32_t)strtoul(pid, NULL, 10);
        (void)snprintf(path, sizeof(path), "%.10s/comm", pid);
        if (agent_file_proc(proc, path, row->program, sizeof(row->program)) > 0)
            row->program[strcspn(row->program, "\n")] = '\0';
        else
            row->program[0] = '\0';
    }
    if (dir)
        (void)closedir(dir);
    else if (fd >= 0)
        (void)close(fd);
}

static void name_rows(const struct agent_listening *l, struct table *t)
{
    size_t unnamed = 0;
    int left = LINKS_MAX;

    for (size_t i = 0; i < t->n; i++) {
        const struct socket_row *old = NULL;
        for (size_t j = 0; j < l->n && !old; j++)
            if (l->known[j].inode == t->rows[i].inode && l->known[j].pid)
                old = &l->known[j];
        if (old)
            t->rows[i] = *old;
        unnamed += !t->rows[i].pid;
    }
    DIR *dir = unnamed ? opendir("/proc") : NULL;
    for (struct dirent *d; dir && left > 0 && (d = readdir(dir));)
        if (d->d_name[0] >= '1' && d->d_name[0] <= '9')
            search_process(t, dirfd(dir), d->d_name, &left);
    if (dir)
        (void)closedir(dir);
}

/* --- telling --- */

static void send_rows(const struct agent_listening *l, struct agent_conn *c)
{
    struct proto_writer w;

    if (!agent_conn_has_handshake(c) || !agent_conn_can(c, PROTO_CAP_LISTENING))
        return;
    proto_frame_begin(&w, agent_conn_scratch(l->agent), PROTO_FRAME_MAX);
    for (size_t i = 0; i < l->n; i++)
        proto_put_listener(&w, &(struct proto_listener){ .address = l->known[i].address,
                                                         .program = l->known[i].program,
                                                         .pid = l->known[i].pid,
                                                         .port = l->known[i].port });
    int len = proto_frame_end(&w, 0, PROTO_LISTENING, 0);
    assert(len > 0);
    agent_conn_send(c, w.data, (size_t)len);
}

/* --- when to look --- */

static bool has_changed(const struct agent_listening *l, const struct table *t)
{
    bool is_same = l->n == t->n;

    for (size_t i = 0; is_same && i < t->n; i++)
        is_same = l->known[i].inode == t->rows[i].inode && compare(&l->known[i], &t->rows[i]) == 0;
    return !is_same;
}

static bool has_children(void)
{
    siginfo_t info;

    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

static void replace_rows(struct agent_listening *l, struct table *t)
{
    struct socket_row *rows = t->n ? malloc(t->n * sizeof(*rows)) : NULL;

    if (t->n && !rows)
        return; /* told after the next look */
    name_rows(l, t);
    if (rows)
        memcpy(rows, t->rows, t->n * sizeof(*rows));
    free(l->known);
    l->known = rows;
    l->n = t->n;
    l->pause_ms = FIRST_MS; /* more may follow */
    for (struct agent_conn *c = l->agent->conns; c; c = agent_conn_next(c))
        send_rows(l, c);
}

static void on_look(struct agent_timer *timer)
{
    struct agent_listening *l = (struct agent_listening *)((char *)timer - offsetof(struct agent_listening, look));
    struct table t;

    t.n = 0;
    read_sockets(l, &t);
    l->pause_ms += l->pause_ms / 2;
    if (l->pause_ms > LONGEST_MS)
        l->pause_ms = LONGEST_MS;
    if (has_changed(l, &t))
        replace_rows(l, &t);
    if (l->n || has_children())
        agent_loop_arm(&l->agent->loop, &l->look, l->pause_ms);
}

void agent_listening_stir(struct agent *a)
{
    struct agent_listening *l = a->listening;

    if (!l)
        return;
    bool is_soon = l->look.due_ms && l->pause_ms <= 2 * FIRST_MS;
    l->pause_ms = FIRST_MS;
    if (!is_soon)
        agent_loop_arm(&a->loop, &l->look, FIRST_MS);
}

void agent_listening_reaped(struct agent *a, bool is_last)
{
    struct agent_listening *l = a->listening;

    if (l && l->n) /* it may have been what listened */
        agent_listening_stir(a);
    else if (l && is_last)
        agent_loop_disarm(&a->loop, &l->look);
}

void agent_listening_tell(struct agent *a, struct agent_conn *c)
{
    if (a->listening && a->listening->n)
        send_rows(a->listening, c);
    agent_listening_stir(a);
}

void agent_listening_start(struct agent *a, int fd)
{
    struct agent_listening *l = calloc(1, sizeof(*l));

    if (!l) { /* nothing is told */
        if (fd >= 0)
            (void)close(fd);
        return;
    }
    *l = (struct agent_listening){ .agent = a, .fd = fd, .pause_ms = FIRST_MS, .look.fn = on_look };
    a->listening = l;
}

void agent_listening_end(struct agent *a)
{
    struct agent_listening *l = a->listening;

    if (!l)
        return;
    agent_loop_disarm(&a->loop, &l->look);
    if (l->fd >= 0)
        (void)close(l->fd);
    free(l->known);
    free(l);
    a->listening = NULL;
}
