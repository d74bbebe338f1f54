#include "tls/tls_wire.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "os/seqsock.h"

void tls_wire_set_peer(struct tls_wire_msg *m, const struct sockaddr_storage *addr)
{
    const struct sockaddr_in *in = (const struct sockaddr_in *)addr;
    const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)addr;
    if (addr->ss_family == AF_INET) {
        m->family = AF_INET;
        m->peer_port = ntohs(in->sin_port);
        memcpy(m->peer, &in->sin_addr, sizeof in->sin_addr);
    } else if (addr->ss_family == AF_INET6) {
        m->family = AF_INET6;
        m->peer_port = ntohs(in6->sin6_port);
        memcpy(m->peer, &in6->sin6_addr, sizeof in6->sin6_addr);
    }
}

static bool is_whole(const struct tls_wire_msg *m, size_t len)
{
    return len == sizeof *m && m->magic == TLS_WIRE_MAGIC && memchr(m->text, '\0', sizeof m->text);
}

bool tls_wire_is_from_listener(const struct tls_wire_msg *m, size_t len, size_t n_fds)
{
    if (!is_whole(m, len))
        return false;
    if (m->kind == TLS_WIRE_READY || m->kind == TLS_WIRE_FAILED)
        return n_fds == 0;
    return m->kind == TLS_WIRE_CONN && n_fds == 1 && m->port < TLS_WIRE_PORTS &&
           (m->family == AF_INET || m->family == AF_INET6);
}

bool tls_wire_is_from_server(const struct tls_wire_msg *m, size_t len, size_t n_fds)
{
    if (!is_whole(m, len))
        return false;
    if (m->kind == TLS_WIRE_LISTEN)
        return n_fds == 1 && m->port < TLS_WIRE_PORTS;
    return m->kind == TLS_WIRE_RETIRE && n_fds == 0;
}

void tls_wire_peer(const struct tls_wire_msg *m, char out[TLS_WIRE_PEER_MAX])
{
    char host[INET6_ADDRSTRLEN] = "";
    (void)inet_ntop(m->family, m->peer, host, sizeof host); /* both families fit */
    (void)snprintf(out, TLS_WIRE_PEER_MAX, m->family == AF_INET6 ? "[%s]:%u" : "%s:%u", host, m->peer_port);
}

int tls_wire_send(int sock, const struct tls_wire_msg *m, int fd)
{
    struct tls_wire_msg copy = *m;
    struct iovec parts[2] = { { &copy, sizeof copy }, { 0 } };
    copy.magic = TLS_WIRE_MAGIC;
    return seqsock_send(sock, parts, &fd, fd >= 0);
}
