/* The rule about where the server connects to. */
#include "http/outgoing.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>

#include "tap.h"

static int check(const struct outgoing *o, const char *host, const char *address, unsigned port)
{
    struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
    struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port) };
    struct err err = ERR_INIT;
    bool is_v4 = inet_pton(AF_INET, address, &v4.sin_addr) == 1;
    CHECK(is_v4 || inet_pton(AF_INET6, address, &v6.sin6_addr) == 1);
    int r = outgoing_check(o, host, is_v4 ? (struct sockaddr *)&v4 : (struct sockaddr *)&v6, &err);
    CHECK_INT(err.code, r < 0 ? ERR_FORBIDDEN : ERR_NONE);
    return r;
}

static const char *const inner[] = {
    "127.0.0.1",  "10.0.0.1", "172.16.0.1", "192.168.1.1",        "100.64.0.1",
    "198.18.0.1", "::1",      "fd00::1",    "::ffff:192.168.1.1", "64:ff9b::10.0.0.1"
};
static const char *const closed[] = { "169.254.169.254", "0.0.0.0", "224.0.0.1", "255.255.255.255",
                                      "fe80::1",         "ff02::1", "::",        "::ffff:169.254.169.254" };

TEST(untrusted_hosts_lead_to_public_addresses_only)
{
    const struct outgoing none = { 0 }, open = { .trust = OUTGOING_PUBLIC };
    CHECK_INT(check(&open, "example.org", "8.8.8.8", 443), 0);
    CHECK_INT(check(&open, "example.org", "2606:4700::1", 443), 0);
    CHECK(check(&none, "example.org", "8.8.8.8", 443) < 0);
    for (size_t i = 0; i < sizeof(inner) / sizeof(inner[0]); i++)
        CHECK(check(&open, "example.org", inner[i], 443) < 0);
    for (size_t i = 0; i < sizeof(closed) / sizeof(closed[0]); i++)
        CHECK(check(&open, closed[i], closed[i], 443) < 0);
}

TEST(listed_hosts_lead_to_private_addresses_too)
{
    const struct outgoing some = { .trust = OUTGOING_PUBLIC, .private_hosts = "reg.lab:5000", .closed_ports = "5001" };
    for (size_t i = 0; i < sizeof(inner) / sizeof(inner[0]); i++) {
        CHECK_INT(check(&some, "reg.lab", inner[i], 5000), 0);
        CHECK(check(&some, "reg.lab", inner[i], 5002) < 0 && check(&some, "other.lab", inner[i], 5000) < 0);
    }
    for (size_t i = 0; i < sizeof(closed) / sizeof(closed[0]); i++)
        CHECK(check(&some, "reg.lab", closed[i], 5000) < 0);
    const struct outgoing wide = { .trust = OUTGOING_PUBLIC, .private_hosts = "*.lab:*", .closed_ports = "5001" };
    CHECK_INT(check(&wide, "reg.lab", "127.0.0.1", 5002), 0);
    CHECK(check(&wide, "reg.lab", "127.0.0.1", 5001) < 0 && check(&wide, "reg.lab", "::1", 5001) < 0);
    CHECK_INT(check(&wide, "reg.lab", "10.0.0.1", 5001), 0); /* that port of another host */
}

TEST(what_the_operator_names_may_be_private)
{
    for (size_t i = 0; i < sizeof(inner) / sizeof(inner[0]); i++)
        CHECK_INT(check(&outgoing_operator, "collector", inner[i], 4318), 0);
    CHECK(check(&outgoing_operator, "collector", "169.254.169.254", 80) < 0);
    CHECK_INT(check(&outgoing_operator, "169.254.79.2", "169.254.79.2", 80), 0); /* the operator wrote this address */
    CHECK_INT(check(&outgoing_any, "x", "169.254.169.254", 80), 0);
}

TEST(a_host_that_others_resolve_is_judged_by_its_text)
{
    const struct outgoing open = { .trust = OUTGOING_PUBLIC, .private_hosts = "127.0.0.1:5000,10.0.0.0/8" };
    static const char *const bad[] = { "127.0.0.1", "localhost",  "LocalHost.",      "a.localhost",
                                       "127.1",     "0x7f000001", "2130706433",      "017700000001",
                                       "[::1]",     "::1",        "169.254.169.254", "192.168.0.1",
                                       "0" };
    struct err err = ERR_INIT;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        CHECK_INT(outgoing_check_host(&open, bad[i], 443, &err), -EPERM);
    CHECK_INT(outgoing_check_host(&open, "127.0.0.1", 5000, &err), 0);
    CHECK_INT(outgoing_check_host(&open, "10.2.3.4", 443, &err), 0);
    CHECK_INT(outgoing_check_host(&open, "notlocalhost", 443, &err), 0);
    CHECK_INT(outgoing_check_host(&open, "example.org", 443, &err), 0);
    CHECK_INT(outgoing_check_host(&open, "8.8.8.8", 443, &err), 0);
}

int main(void)
{
    RUN(untrusted_hosts_lead_to_public_addresses_only);
    RUN(listed_hosts_lead_to_private_addresses_too);
    RUN(what_the_operator_names_may_be_private);
    RUN(a_host_that_others_resolve_is_judged_by_its_text);
    return tap_done();
}
