/* The block of names in /etc/hosts, and which places a volume may be mounted on. */
#include <errno.h>

#include "sandbox/net/hosts.h"
#include "sandbox/storage/volumes.h"
#include "tap.h"

static bool merges_to(const char *text, const char *block, const char *want)
{
    CLEANUP(buf_done) struct buf out = BUF_INIT(4096);
    return hosts_merge(text, strlen(text), block, &out) == 0 && strcmp(buf_text(&out), want) == 0;
}

TEST(the_block_is_added_replaced_and_removed)
{
    CLEANUP(buf_done) struct buf once = BUF_INIT(4096), twice = BUF_INIT(4096), gone = BUF_INIT(4096);
    CHECK_INT(hosts_merge("127.0.0.1 localhost", 19, "1.2.3.4 a\n", &once), 0);
    CHECK(strstr(once.data, "localhost\n#") && strstr(once.data, "1.2.3.4 a\n"));
    CHECK_INT(hosts_merge(once.data, once.len, "1.2.3.5 b\n", &twice), 0);
    CHECK(!strstr(twice.data, "1.2.3.4") && strstr(twice.data, "1.2.3.5 b\n") && once.len == twice.len);
    CHECK_INT(hosts_merge(twice.data, twice.len, "", &gone), 0);
    CHECK(strcmp(gone.data, "127.0.0.1 localhost\n") == 0);
    CHECK(merges_to("", "", ""));
    CHECK(merges_to("a\n", "", "a\n"));
    /* Marks that stand alone go, what stands beside them stays; a second block goes, too. */
#define BEGIN "# iii networks: written by the sandbox server\n"
#define END   "# iii networks end\n"
    CHECK(merges_to(BEGIN "mine\n", "", "mine\n"));
    CHECK(merges_to("a\n" END "b", "", "a\nb\n"));
    CHECK(merges_to(BEGIN "mine\n" BEGIN "1.2.3.4 a\n" END "b\n" BEGIN "1.2.3.5 c\n" END, "", "mine\nb\n"));
    CHECK(merges_to(BEGIN "1.2.3.4 a\n" END, "", ""));
    CHECK(merges_to("a\n# iii networks end", "", "a\n"));
    CLEANUP(buf_done) struct buf full = BUF_INIT(4);
    CHECK_INT(hosts_merge("12345", 5, "", &full), -E2BIG);
}

TEST(names_that_may_stand_there)
{
    static const char *const good[] = { "web", "web-1", "a.b", "sbx_1", "A" };
    static const char *const bad[] = {
        "",          "a b",       "a\nb",
        "localhost", "LOCALHOST", "-x",
        ".x",        "a#b",       "0123456789012345678901234567890123456789012345678901234567890123"
    };
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
        CHECK(hosts_is_name(good[i]));
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        CHECK(!hosts_is_name(bad[i]));
}

TEST(places_for_volumes)
{
    char out[16];
    CHECK_INT(volumes_path("//a//b/", out, sizeof(out), NULL), 0);
    CHECK(strcmp(out, "/a/b") == 0);
    CHECK_INT(volumes_path("/14characters_", out, sizeof(out), NULL), 0);
    CHECK_INT(volumes_path("/15characters___", out, sizeof(out), NULL), -EINVAL);
    CHECK_INT(volumes_path("/procs", out, sizeof(out), NULL), 0);
    static const char *const bad[] = { "", "a", "/", "///", "/a/..", "/./a", "/proc", "/proc/1", "/dev", "/sys/x" };
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        CHECK_INT(volumes_path(bad[i], out, sizeof(out), NULL), -EINVAL);
}

int main(void)
{
    RUN(the_block_is_added_replaced_and_removed);
    RUN(names_that_may_stand_there);
    RUN(places_for_volumes);
    return tap_done();
}
