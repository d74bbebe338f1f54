/* Messages between server and TLS door: each side takes only what the other may send. */
#include <arpa/inet.h>
#include <netinet/in.h>

#include "tap.h"
#include "tls/doorwire.h"

static struct doorwire_msg message(enum doorwire_kind kind)
{
    return (struct doorwire_msg){ .magic = DOORWIRE_MAGIC, .kind = (uint16_t)kind, .family = AF_INET };
}

TEST(each_side_takes_its_own_kinds)
{
    static const struct {
        enum doorwire_kind kind;
        size_t n_fds;
        bool is_door, is_server;
    } cases[] = {
        { DOORWIRE_READY, 0, true, false },       { DOORWIRE_READY, 1, false, false },
        { DOORWIRE_FAILED, 0, true, false },      { DOORWIRE_CONN, 1, true, false },
        { DOORWIRE_CONN, 0, false, false },       { DOORWIRE_LISTEN, 1, false, true },
        { DOORWIRE_LISTEN, 0, false, false },     { DOORWIRE_RETIRE, 0, false, true },
        { DOORWIRE_RETIRE, 1, false, false },     { 0, 0, false, false },
        { DOORWIRE_RETIRE + 1, 0, false, false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct doorwire_msg m = message(cases[i].kind);
        CHECK_INT(doorwire_is_from_door(&m, sizeof m, cases[i].n_fds), cases[i].is_door);
        CHECK_INT(doorwire_is_from_server(&m, sizeof m, cases[i].n_fds), cases[i].is_server);
    }
}

TEST(what_is_damaged_is_not_taken)
{
    struct doorwire_msg m = message(DOORWIRE_CONN);
    CHECK(doorwire_is_from_door(&m, sizeof m, 1));
    CHECK(!doorwire_is_from_door(&m, sizeof m - 1, 1));
    CHECK(!doorwire_is_from_door(&m, 0, 1));
    m.port = DOORWIRE_PORTS;
    CHECK(!doorwire_is_from_door(&m, sizeof m, 1));
    m = message(DOORWIRE_CONN);
    m.magic++;
    CHECK(!doorwire_is_from_door(&m, sizeof m, 1));
    m = message(DOORWIRE_CONN);
    m.family = AF_UNIX;
    CHECK(!doorwire_is_from_door(&m, sizeof m, 1));
    m = message(DOORWIRE_READY);
    memset(m.text, 'x', sizeof m.text);
    CHECK(!doorwire_is_from_door(&m, sizeof m, 0));
    m = message(DOORWIRE_LISTEN);
    m.port = DOORWIRE_PORTS;
    CHECK(!doorwire_is_from_server(&m, sizeof m, 1));
}

TEST(peers_are_named_as_the_server_names_them)
{
    char text[DOORWIRE_PEER_MAX];
    struct doorwire_msg m = message(DOORWIRE_CONN);
    struct sockaddr_storage addr = { 0 };
    struct sockaddr_in *in = (struct sockaddr_in *)&addr;
    *in = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(4242) };
    CHECK_INT(inet_pton(AF_INET, "192.0.2.7", &in->sin_addr), 1);
    doorwire_set_peer(&m, &addr);
    doorwire_peer(&m, text);
    CHECK_STR(text, "192.0.2.7:4242");
    struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&addr;
    *in6 = (struct sockaddr_in6){ .sin6_family = AF_INET6, .sin6_port = htons(65535) };
    CHECK_INT(inet_pton(AF_INET6, "2001:db8:1111:2222:3333:4444:5555:6666", &in6->sin6_addr), 1);
    doorwire_set_peer(&m, &addr);
    doorwire_peer(&m, text);
    CHECK_STR(text, "[2001:db8:1111:2222:3333:4444:5555:6666]:65535");
}

int main(void)
{
    RUN(each_side_takes_its_own_kinds);
    RUN(what_is_damaged_is_not_taken);
    RUN(peers_are_named_as_the_server_names_them);
    return tap_done();
}
