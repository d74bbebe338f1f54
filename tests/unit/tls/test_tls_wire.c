/* Messages between server and TLS door: each side takes only what the other may send. */
#include <arpa/inet.h>
#include <netinet/in.h>

#include "tap.h"
#include "tls/tls_wire.h"

static struct tls_wire_msg message(enum tls_wire_kind kind)
{
    return (struct tls_wire_msg){ .magic = TLS_WIRE_MAGIC, .kind = (uint16_t)kind, .family = AF_INET };
}

TEST(each_side_takes_its_own_kinds)
{
    static const struct {
        enum tls_wire_kind kind;
        size_t n_fds;
        bool is_process, is_server;
    } cases[] = {
        { TLS_WIRE_READY, 0, true, false },       { TLS_WIRE_READY, 1, false, false },
        { TLS_WIRE_FAILED, 0, true, false },      { TLS_WIRE_CONN, 1, true, false },
        { TLS_WIRE_CONN, 0, false, false },       { TLS_WIRE_LISTEN, 1, false, true },
        { TLS_WIRE_LISTEN, 0, false, false },     { TLS_WIRE_RETIRE, 0, false, true },
        { TLS_WIRE_RETIRE, 1, false, false },     { 0, 0, false, false },
        { TLS_WIRE_RETIRE + 1, 0, false, false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tls_wire_msg m = message(cases[i].kind);
        CHECK_INT(tls_wire_is_from_listener(&m, sizeof m, cases[i].n_fds), cases[i].is_process);
        CHECK_INT(tls_wire_is_from_server(&m, sizeof m, cases[i].n_fds), cases[i].is_server);
    }
}

TEST(what_is_damaged_is_not_taken)
{
    struct tls_wire_msg m = message(TLS_WIRE_CONN);
    CHECK(tls_wire_is_from_listener(&m, sizeof m, 1));
    CHECK(!tls_wire_is_from_listener(&m, sizeof m - 1, 1));
    CHECK(!tls_wire_is_from_listener(&m, 0, 1));
    m.port = TLS_WIRE_PORTS;
    CHECK(!tls_wire_is_from_listener(&m, sizeof m, 1));
    m = message(TLS_WIRE_CONN);
    m.magic++;
    CHECK(!tls_wire_is_from_listener(&m, sizeof m, 1));
    m = message(TLS_WIRE_CONN);
    m.family = AF_UNIX;
    CHECK(!tls_wire_is_from_listener(&m, sizeof m, 1));
    m = message(TLS_WIRE_READY);
    memset(m.text, 'x', sizeof m.text);
    CHECK(!tls_wire_is_from_listener(&m, sizeof m, 0));
    m = message(TLS_WIRE_LISTEN);
    m.port = TLS_WIRE_PORTS;
    CHECK(!tls_wire_is_from_server(&m, sizeof m, 1));
}

TEST(peers_are_named_as_the_server_names_them)
{
    char text[TLS_WIRE_PEER_MAX];
    struct tls_wire_msg m = message(TLS_WIRE_CONN);
    struct sockaddr_storage addr = { 0 };
    struct sockaddr_in *in = (struct sockaddr_in *)&addr;
    *in = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(4242) };
    CHECK_INT(inet_pton(AF_INET, "192.0.2.7", &in->sin_addr), 1);
    tls_wire_set_peer(&m, &addr);
    tls_wire_peer(&m, text);
    CHECK_STR(text, "192.0.2.7:4242");
    struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&addr;
    *in6 = (struct sockaddr_in6){ .sin6_family = AF_INET6, .sin6_port = htons(65535) };
    CHECK_INT(inet_pton(AF_INET6, "2001:db8:1111:2222:3333:4444:5555:6666", &in6->sin6_addr), 1);
    tls_wire_set_peer(&m, &addr);
    tls_wire_peer(&m, text);
    CHECK_STR(text, "[2001:db8:1111:2222:3333:4444:5555:6666]:65535");
}

int main(void)
{
    RUN(each_side_takes_its_own_kinds);
    RUN(what_is_damaged_is_not_taken);
    RUN(peers_are_named_as_the_server_names_them);
    return tap_done();
}
