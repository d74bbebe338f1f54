/* The address in server.json: a token goes to this host only, whatever the file says. */
#include "cli/server_file.h"

#include "tap.h"

static bool is_local(const char *rest)
{
    char copy[128];
    (void)snprintf(copy, sizeof(copy), "%s", rest);
    return server_file_is_local(&(struct server_file){ .rest = copy });
}

TEST(addresses_of_this_host)
{
    CHECK(is_local("http://127.0.0.1:3111"));
    CHECK(is_local("https://127.0.0.2:1"));
    CHECK(is_local("http://[::1]:3111"));
}

TEST(addresses_of_others)
{
    static const char *const others[] = { "",
                                          "127.0.0.1:3111",
                                          "http://10.0.0.1:3111",
                                          "http://127.example:3111",
                                          "http://127.0.0.1.example:3111",
                                          "http://127.0.0.1:3111@example:1",
                                          "http://127.0.0.1",
                                          "http://localhost:3111",
                                          "http://[::1].example:1",
                                          "http://[::2]:3111" };
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
        CHECK(!is_local(others[i]));
}

int main(void)
{
    RUN(addresses_of_this_host);
    RUN(addresses_of_others);
    return tap_done();
}
