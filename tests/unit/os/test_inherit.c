/* What one server leaves to the next goes through a socket whole, or not at all. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/inherit.h"
#include "tap.h"

static int listener(int type, uint16_t *ret_port)
{
    struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t len = sizeof(a);
    int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);
    CHECK(fd >= 0 && bind(fd, (struct sockaddr *)&a, sizeof(a)) == 0);
    CHECK(getsockname(fd, (struct sockaddr *)&a, &len) == 0);
    *ret_port = ntohs(a.sin_port);
    return fd;
}

static bool is_same(int a, int b)
{
    struct stat x, y;
    return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_ino == y.st_ino && x.st_dev == y.st_dev;
}

TEST(sockets_are_found_by_address_and_type)
{
    uint16_t tcp_port, udp_port;
    struct inherit *i = inherit_new();
    int tcp = listener(SOCK_STREAM, &tcp_port), udp = listener(SOCK_DGRAM, &udp_port);
    inherit_add(i, INHERIT_PORT, udp);
    inherit_add(i, INHERIT_PORT, tcp);
    CHECK_INT(inherit_take_at(i, INHERIT_REST, "127.0.0.1", tcp_port, SOCK_STREAM), NO_FD);
    CHECK_INT(inherit_take_at(i, INHERIT_PORT, "127.0.0.2", tcp_port, SOCK_STREAM), NO_FD);
    CHECK_INT(inherit_take_at(i, INHERIT_PORT, "::1", tcp_port, SOCK_STREAM), NO_FD);
    CHECK_INT(inherit_take_at(i, INHERIT_PORT, "nonsense", tcp_port, SOCK_STREAM), NO_FD);
    CHECK_INT(inherit_take_at(i, INHERIT_PORT, "127.0.0.1", (uint16_t)(tcp_port ^ 1), SOCK_STREAM), NO_FD);
    CHECK_INT(inherit_take_at(i, INHERIT_PORT, "127.0.0.1", tcp_port, SOCK_SEQPACKET), NO_FD);
    CHECK_INT(inherit_count(i, INHERIT_PORT), 2);
    CHECK_INT(inherit_take_at(i, INHERIT_PORT, "127.0.0.1", 0, SOCK_STREAM), tcp);
    CHECK_INT(inherit_take_at(i, INHERIT_PORT, "127.0.0.1", udp_port, SOCK_DGRAM), udp);
    CHECK_INT(inherit_take_at(i, INHERIT_PORT, "127.0.0.1", udp_port, SOCK_DGRAM), NO_FD);
    CHECK_INT(inherit_take(i, INHERIT_PORT), NO_FD);
    CHECK_INT(inherit_take(NULL, INHERIT_PORT), NO_FD);
    inherit_free(i);
    (void)close(tcp);
    (void)close(udp);
}

TEST(all_of_it_arrives_and_the_sender_keeps_its_own)
{
    enum { MANY = 200 }; /* several messages */
    int pair[2];
    struct err err = ERR_INIT;
    struct inherit *from = inherit_new(), *to = inherit_new();
    CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
    int lock = open("/dev/null", O_RDONLY | O_CLOEXEC);
    inherit_add(from, INHERIT_LOCK, lock);
    for (int k = 0; k < MANY; k++)
        inherit_add(from, INHERIT_REST_CONN, dup(lock));
    (void)close(inherit_take(from, INHERIT_REST_CONN)); /* taken: not sent */
    CHECK_INT(inherit_send(from, pair[0], &err), 0);
    CHECK_INT(inherit_receive(to, pair[1], &err), 0);
    CHECK_INT(inherit_count(to, INHERIT_LOCK), 1);
    CHECK_INT(inherit_count(to, INHERIT_REST_CONN), MANY - 1);
    CHECK_INT(inherit_count(from, INHERIT_REST_CONN), MANY - 1);
    int got = inherit_take(to, INHERIT_LOCK);
    CHECK(got != lock && is_same(got, lock));
    CHECK(fcntl(got, F_GETFD) & FD_CLOEXEC);
    (void)close(got);
    inherit_free(from);
    inherit_free(to);
    (void)close(pair[0]);
    (void)close(pair[1]);
}

TEST(half_of_it_and_nonsense_are_errors)
{
    struct {
        uint32_t magic, n;
        uint8_t roles[64];
    } bad_magic = { .magic = 1 }, too_many = { .magic = 0x69696948u, .n = 3 };
    const void *const messages[] = { &bad_magic, &too_many, NULL };
    for (size_t k = 0; k < 3; k++) {
        int pair[2];
        struct err err = ERR_INIT;
        struct inherit *to = inherit_new();
        CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
        if (messages[k])
            CHECK(send(pair[0], messages[k], sizeof(bad_magic), 0) == sizeof(bad_magic));
        (void)close(pair[0]);
        int r = inherit_receive(to, pair[1], &err);
        CHECK(r < 0 && err.msg[0]);
        CHECK(messages[k] || r == -EPIPE); /* the other one is gone */
        inherit_free(to);
        (void)close(pair[1]);
    }
}

int main(void)
{
    RUN(sockets_are_found_by_address_and_type);
    RUN(all_of_it_arrives_and_the_sender_keeps_its_own);
    RUN(half_of_it_and_nonsense_are_errors);
    return tap_done();
}
