#include "api/preview.h"
#include "tap.h"

#define HEX "0123456789abcdef01234567"

static void check(const char *host, const char *domain, int port)
{
    struct preview_target t = { 0 };
    bool is_one = preview_parse(host, domain, &t);
    CHECK_INT(is_one ? t.port : 0, port);
    if (is_one)
        CHECK_STR(t.id, "sbx_" HEX);
}

TEST(a_host_names_a_port_and_a_sandbox)
{
    check("8000-" HEX ".localhost:3111", "", 8000);
    check("1-" HEX ".LOCALHOST", "", 1);
    check("65535-0123456789ABCDEF01234567.localhost", "", 65535);
    check("80-" HEX ".s.example", "s.example", 80);
    check("80-" HEX ".s.example:8443", "https://s.example:8443", 80);
    check("80-" HEX ".localhost", "s.example", 80);
}

TEST(other_names_do_not)
{
    check("", "", 0);
    check("localhost", "", 0);
    check("0-" HEX ".localhost", "", 0);
    check("65536-" HEX ".localhost", "", 0);
    check("123456-" HEX ".localhost", "", 0);
    check("80-" HEX, "", 0);
    check("80-" HEX ".", "", 0);
    check("80-" HEX "0.localhost", "", 0);
    check("80-" HEX ".s.example", "", 0);
    check("80-" HEX ".xs.example", "s.example", 0);
    check("80-" HEX ".s.example.evil", "s.example", 0);
    check("80-0123456789abcdef0123456.localhost", "", 0);
    check("80_" HEX ".localhost", "", 0);
}

int main(void)
{
    RUN(a_host_names_a_port_and_a_sandbox);
    RUN(other_names_do_not);
    return tap_done();
}
