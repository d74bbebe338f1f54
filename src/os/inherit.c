#include "os/inherit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "os/seqsock.h"

#define INHERIT_MAGIC 0x69696948u /* "Hiii" */
#define BATCH         64
#define ITEMS_MAX     65536u

struct item {
    enum inherit_role role;
    int fd; /* NO_FD: taken */
};

struct inherit {
    struct item *items;
    size_t n, cap;
};

/* One message: n descriptors with their roles. n 0 is the last one. */
struct parcel {
    uint32_t magic, n;
    uint8_t roles[BATCH];
};

struct inherit *inherit_new(void)
{
    return xzalloc(sizeof(struct inherit));
}

struct inherit *inherit_free(struct inherit *i)
{
    if (!i)
        return NULL;
    for (size_t k = 0; k < i->n; k++)
        if (i->items[k].fd >= 0)
            (void)close(i->items[k].fd);
    free(i->items);
    free(i);
    return NULL;
}

void inherit_add(struct inherit *i, enum inherit_role role, int fd)
{
    if (i->n == i->cap) {
        i->cap = i->cap ? i->cap * 2 : 16;
        i->items = xrealloc(i->items, i->cap * sizeof(*i->items));
    }
    i->items[i->n++] = (struct item){ role, fd };
}

size_t inherit_count(const struct inherit *i, enum inherit_role role)
{
    size_t count = 0;
    for (size_t k = 0; i && k < i->n; k++)
        count += i->items[k].fd >= 0 && i->items[k].role == role;
    return count;
}

int inherit_take(struct inherit *i, enum inherit_role role)
{
    for (size_t k = 0; i && k < i->n; k++)
        if (i->items[k].fd >= 0 && i->items[k].role == role)
            return steal_fd(&i->items[k].fd);
    return NO_FD;
}

static bool is_bound_to(int fd, const char *host, uint16_t port, int type)
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } have = { 0 };
    socklen_t len = sizeof(have), type_len = sizeof(int);
    int own_type = 0;
    struct in_addr v4;
    struct in6_addr v6;
    if (getsockname(fd, &have.any, &len) < 0 || getsockopt(fd, SOL_SOCKET, SO_TYPE, &own_type, &type_len) < 0 ||
        own_type != type || (port && have.v4.sin_port != htons(port))) /* at the same offset in both families */
        return false;
    if (have.any.sa_family == AF_INET)
        return inet_pton(AF_INET, host, &v4) == 1 && v4.s_addr == have.v4.sin_addr.s_addr;
    return have.any.sa_family == AF_INET6 && inet_pton(AF_INET6, host, &v6) == 1 &&
           memcmp(&v6, &have.v6.sin6_addr, sizeof(v6)) == 0;
}

int inherit_take_at(struct inherit *i, enum inherit_role role, const char *host, uint16_t port, int type)
{
    for (size_t k = 0; i && k < i->n; k++)
        if (i->items[k].fd >= 0 && i->items[k].role == role && is_bound_to(i->items[k].fd, host, port, type))
            return steal_fd(&i->items[k].fd);
    return NO_FD;
}

uint16_t inherit_port(int fd)
{
    struct sockaddr_in6 a = { 0 };
    socklen_t len = sizeof(a);
    return getsockname(fd, (struct sockaddr *)&a, &len) < 0 ? 0 : ntohs(a.sin6_port); /* at the same offset in v4 */
}

static int send_parcel(int sock, struct parcel *p, const int *fds, struct err *err)
{
    struct iovec parts[2] = { { p, sizeof(*p) }, { NULL, 0 } };
    int r = seqsock_send(sock, parts, fds, p->n);
    return r < 0 ? err_sys(err, r, "hand over %u descriptors", p->n) : 0;
}

int inherit_send(const struct inherit *i, int sock, struct err *err)
{
    struct parcel p = { .magic = INHERIT_MAGIC };
    int fds[BATCH], r = 0;
    for (size_t k = 0; r == 0 && k < i->n; k++) {
        if (i->items[k].fd < 0)
            continue;
        p.roles[p.n] = (uint8_t)i->items[k].role;
        fds[p.n++] = i->items[k].fd;
        if (p.n == BATCH) {
            r = send_parcel(sock, &p, fds, err);
            p.n = 0;
        }
    }
    if (r == 0 && p.n > 0) {
        r = send_parcel(sock, &p, fds, err);
        p.n = 0;
    }
    return r < 0 ? r : send_parcel(sock, &p, fds, err);
}

int inherit_receive(struct inherit *i, int sock, struct err *err)
{
    for (;;) {
        struct parcel p;
        int fds[BATCH];
        size_t n = 0;
        ssize_t got = seqsock_recv(sock, &p, sizeof(p), fds, BATCH, &n);
        if (got <= 0)
            return err_sys(err, got < 0 ? (int)got : -EPIPE, "receive the descriptors of the running server");
        bool is_good = got == (ssize_t)sizeof(p) && p.magic == INHERIT_MAGIC && p.n == n && i->n + n <= ITEMS_MAX;
        for (size_t k = 0; is_good && k < n; k++)
            is_good = p.roles[k] < INHERIT_ROLES;
        if (!is_good) {
            seqsock_close_all(fds, n);
            return err_set(err, ERR_UPSTREAM, EBADMSG, "the running server handed over something else than sockets");
        }
        if (n == 0)
            return 0;
        for (size_t k = 0; k < n; k++)
            inherit_add(i, (enum inherit_role)p.roles[k], fds[k]);
    }
}
