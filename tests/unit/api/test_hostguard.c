/* Which Host headers a server without tokens answers to. */
#include "api/hostguard.h"

#include <string.h>

#include "tap.h"

static bool knows(const char *host)
{
    return hostguard_knows(host, "sandbox.lan", " box.lan,other.lan");
}

TEST(names_of_this_machine_its_own_and_listed_ones_are_known)
{
    static const char *const known[] = { "localhost",       "LOCALHOST:3111", "a.localhost",  "127.0.0.1:3111",
                                         "127.255.255.255", "[::1]:3111",     "[::1]",        "sandbox.lan:3111",
                                         "Sandbox.LAN",     "box.lan",        "OTHER.lan:80", "a.b.localhost:1" };
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        CHECK(knows(known[i]));
}

TEST(other_names_are_not)
{
    static const char *const foreign[] = { "",
                                           ":3111",
                                           "[",
                                           "[]",
                                           "evil.example",
                                           "localhost.evil.example",
                                           "xlocalhost",
                                           ".localhost",
                                           "128.0.0.1",
                                           "126.255.255.255",
                                           "10.1.2.3",
                                           "[::2]",
                                           "[fe80::1]",
                                           "box",
                                           "box.la",
                                           "box.lan.evil.example",
                                           "lan,other",
                                           "*" };
    char longest[300];
    for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++)
        CHECK(!knows(foreign[i]));
    memset(longest, 'a', sizeof(longest));
    memcpy(longest + sizeof(longest) - sizeof(".localhost"), ".localhost", sizeof(".localhost"));
    CHECK(!knows(longest));
}

TEST(a_server_on_every_address_answers_to_addresses_but_not_to_names)
{
    static const char *const everywhere[] = { "0.0.0.0", "::" };
    for (size_t i = 0; i < 2; i++) {
        CHECK(hostguard_knows("10.1.2.3:80", everywhere[i], ""));
        CHECK(hostguard_knows("[2001:db8::1]:80", everywhere[i], ""));
        CHECK(!hostguard_knows("evil.example", everywhere[i], ""));
    }
}

TEST(a_star_allows_all)
{
    CHECK(hostguard_knows("evil.example", "127.0.0.1", "*"));
    CHECK(hostguard_knows("evil.example", "127.0.0.1", "box.lan, *"));
    CHECK(!hostguard_knows("evil.example", "127.0.0.1", "*.example"));
}

int main(void)
{
    RUN(names_of_this_machine_its_own_and_listed_ones_are_known);
    RUN(other_names_are_not);
    RUN(a_server_on_every_address_answers_to_addresses_but_not_to_names);
    RUN(a_star_allows_all);
    return tap_done();
}
