/* Kinds of addresses, ranges, and the lists of hosts and ports that settings hold. */
#include "base/address.h"

#include <errno.h>

#include "tap.h"

static enum address_kind kind_of(const char *text)
{
    struct address a;
    CHECK(address_parse(text, &a));
    return address_kind(&a);
}

TEST(every_address_has_its_kind)
{
    static const struct {
        const char *text;
        enum address_kind kind;
    } rows[] = {
        { "8.8.8.8", ADDRESS_PUBLIC },
        { "1.0.0.0", ADDRESS_PUBLIC },
        { "0.0.0.0", ADDRESS_CLOSED },
        { "0.255.255.255", ADDRESS_CLOSED },
        { "9.255.255.255", ADDRESS_PUBLIC },
        { "10.0.0.0", ADDRESS_PRIVATE },
        { "10.255.255.255", ADDRESS_PRIVATE },
        { "11.0.0.0", ADDRESS_PUBLIC },
        { "100.63.255.255", ADDRESS_PUBLIC },
        { "100.64.0.0", ADDRESS_PRIVATE },
        { "100.127.255.255", ADDRESS_PRIVATE },
        { "100.128.0.0", ADDRESS_PUBLIC },
        { "127.0.0.1", ADDRESS_LOOPBACK },
        { "127.255.255.255", ADDRESS_LOOPBACK },
        { "169.253.255.255", ADDRESS_PUBLIC },
        { "169.254.169.254", ADDRESS_CLOSED },
        { "172.15.255.255", ADDRESS_PUBLIC },
        { "172.16.0.1", ADDRESS_PRIVATE },
        { "172.31.255.255", ADDRESS_PRIVATE },
        { "172.32.0.0", ADDRESS_PUBLIC },
        { "192.0.0.8", ADDRESS_PRIVATE },
        { "192.0.2.1", ADDRESS_RESERVED },
        { "192.168.0.1", ADDRESS_PRIVATE },
        { "192.169.0.0", ADDRESS_PUBLIC },
        { "198.17.255.255", ADDRESS_PUBLIC },
        { "198.19.0.1", ADDRESS_PRIVATE },
        { "198.51.100.1", ADDRESS_RESERVED },
        { "203.0.113.1", ADDRESS_RESERVED },
        { "223.255.255.255", ADDRESS_PUBLIC },
        { "224.0.0.1", ADDRESS_CLOSED },
        { "240.0.0.1", ADDRESS_CLOSED },
        { "255.255.255.255", ADDRESS_CLOSED },
        { "::", ADDRESS_CLOSED },
        { "::1", ADDRESS_LOOPBACK },
        { "[::1]", ADDRESS_LOOPBACK },
        { "::2", ADDRESS_CLOSED },
        { "::7f00:1", ADDRESS_CLOSED },           /* IPv4-compatible */
        { "::ffff:127.0.0.1", ADDRESS_LOOPBACK }, /* mapped */
        { "::ffff:169.254.169.254", ADDRESS_CLOSED },
        { "::ffff:10.1.2.3", ADDRESS_PRIVATE },
        { "::ffff:8.8.8.8", ADDRESS_PUBLIC },
        { "64:ff9b::10.1.2.3", ADDRESS_PRIVATE }, /* NAT64 */
        { "64:ff9b::8.8.8.8", ADDRESS_PUBLIC },
        { "64:ff9b:1::8.8.8.8", ADDRESS_PRIVATE },
        { "2002:a9fe:a9fe::", ADDRESS_CLOSED }, /* 6to4 */
        { "2002:808:808::1", ADDRESS_PUBLIC },
        { "2001:0:1::1", ADDRESS_RESERVED }, /* Teredo */
        { "2001:db8::1", ADDRESS_RESERVED },
        { "3fff:fff::1", ADDRESS_RESERVED },
        { "2606:4700::1", ADDRESS_PUBLIC },
        { "fc00::1", ADDRESS_PRIVATE },
        { "fd00:ec2::254", ADDRESS_PRIVATE },
        { "fe80::1", ADDRESS_CLOSED },
        { "febf::1", ADDRESS_CLOSED },
        { "fec0::1", ADDRESS_PRIVATE },
        { "ff02::1", ADDRESS_CLOSED },
        { "4000::1", ADDRESS_RESERVED },
        { "100::1", ADDRESS_RESERVED },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (kind_of(rows[i].text) != rows[i].kind)
            printf("# %s\n", rows[i].text);
        CHECK_INT(kind_of(rows[i].text), rows[i].kind);
    }
}

TEST(other_texts_are_not_addresses)
{
    static const char *const bad[] = { "",          "1.2.3",        "127.1",       "0x7f.0.0.1", "2130706433",
                                       "1.2.3.4.5", "256.0.0.1",    " 1.2.3.4",    "[1.2.3.4]",  "[::1",
                                       "::1]",      "fe80::1%eth0", "example.org", "1.2.3.4/8" };
    struct address a;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        CHECK(!address_parse(bad[i], &a));
}

TEST(ranges_have_what_is_inside)
{
    static const struct {
        const char *range, *address;
        bool is_inside;
    } rows[] = { { "10.0.0.0/8", "10.9.9.9", true },
                 { "10.0.0.0/8", "11.0.0.0", false },
                 { "10.0.0.1", "10.0.0.1", true },
                 { "10.0.0.1", "10.0.0.2", false },
                 { "10.0.0.0/9", "10.127.0.0", true },
                 { "10.0.0.0/9", "10.128.0.0", false },
                 { "0.0.0.0/0", "255.1.1.1", true },
                 { "0.0.0.0/0", "2606::1", false },
                 { "::/0", "2606::1", true },
                 { "fd00::/8", "fdff::1", true },
                 { "10.0.0.0/8", "::ffff:10.0.0.1", true } };
    struct address_range r;
    struct address a;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        CHECK(address_range_parse(rows[i].range, &r) == 0 && address_parse(rows[i].address, &a));
        CHECK_INT(address_range_has(&r, &a), rows[i].is_inside);
    }
    static const char *const bad[] = { "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1", "10.0.0.0/8x",
                                       "fd00::/129",  "x/8",       "/8" };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        CHECK_INT(address_range_parse(bad[i], &r), -EINVAL);
}

TEST(a_list_has_hosts_with_their_ports)
{
    static const char list[] = "reg.example, *.lab.example:*,10.1.0.0/16:5000, [fd00::1]:5001,127.0.0.1:8443,::1";
    static const struct {
        const char *host;
        unsigned port;
        bool is_there;
    } rows[] = {
        { "reg.example", 443, true },      { "REG.example", 80, true },
        { "reg.example.", 443, true },     { "reg.example", 5000, false },
        { "xreg.example", 443, false },    { "a.lab.example", 9, true },
        { "a.b.LAB.example", 443, true },  { "lab.example", 443, false },
        { "xlab.example", 443, false },    { "10.1.2.3", 5000, true },
        { "10.1.2.3", 5001, false },       { "10.2.0.0", 5000, false },
        { "::ffff:10.1.2.3", 5000, true }, { "fd00::1", 5001, true },
        { "fd00::1", 443, false },         { "127.0.0.1", 8443, true },
        { "127.0.0.2", 8443, false },      { "::1", 443, true },
        { "localhost", 8443, false },      { "", 443, false },
    };
    struct err err = ERR_INIT;
    CHECK_INT(address_hosts_check(list, "X", &err), 0);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (address_hosts_have(list, rows[i].host, (uint16_t)rows[i].port) != rows[i].is_there)
            printf("# %s %u\n", rows[i].host, rows[i].port);
        CHECK_INT(address_hosts_have(list, rows[i].host, (uint16_t)rows[i].port), rows[i].is_there);
    }
    CHECK(!address_hosts_have(NULL, "a", 443) && !address_hosts_have("", "a", 443));
    static const char *const bad[] = { "http://a", "a:0", "a:65536", "a:b",         ":443",
                                       "a b/c",    "*.",  "a:",      "10.0.0.0/40", "*" };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        CHECK_INT(address_hosts_check(bad[i], "III_X", &err), -EINVAL);
        CHECK(strstr(err.msg, "III_X"));
    }
}

TEST(a_list_has_ports)
{
    struct err err = ERR_INIT;
    CHECK_INT(address_ports_check("80, 1000-2000,65535", "X", &err), 0);
    CHECK(address_ports_have("80, 1000-2000,65535", 80) && address_ports_have("80, 1000-2000", 1000));
    CHECK(address_ports_have("80, 1000-2000", 2000) && address_ports_have("80,1000-2000,65535", 65535));
    CHECK(!address_ports_have("80, 1000-2000", 999) && !address_ports_have("80, 1000-2000", 2001));
    CHECK(address_ports_have("*", 1) && !address_ports_have("", 1) && !address_ports_have(NULL, 1));
    static const char *const bad[] = { "0", "65536", "x", "9-8", "1-", "-1", "1-2-3", "80x" };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        CHECK_INT(address_ports_check(bad[i], "III_Y", &err), -EINVAL);
        CHECK(strstr(err.msg, "III_Y"));
    }
}

int main(void)
{
    RUN(every_address_has_its_kind);
    RUN(other_texts_are_not_addresses);
    RUN(ranges_have_what_is_inside);
    RUN(a_list_has_hosts_with_their_ports);
    RUN(a_list_has_ports);
    return tap_done();
}
