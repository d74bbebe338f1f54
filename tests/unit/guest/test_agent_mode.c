/* chmod's modes: octal digits and one symbolic clause. */
#include <errno.h>
#include <stdint.h>
#include <sys/stat.h>

#include "guest/proto_mode.h"
#include "tap.h"

/* The bits after the clause, or -1 when it is refused. */
static long apply(const char *text, uint32_t st_mode)
{
    struct proto_mode m;

    return proto_mode_parse(text, &m) < 0 ? -1 : (long)proto_mode_apply(&m, st_mode);
}

TEST(octal_digits_set_the_mode)
{
    CHECK_INT(apply("755", S_IFREG | 0600), 0755);
    CHECK_INT(apply("0644", S_IFREG | 0777), 0644);
    CHECK_INT(apply("1777", S_IFDIR | 0700), 01777);
    CHECK_INT(apply("000", S_IFREG | 0777), 0);
}

TEST(a_clause_touches_only_its_classes)
{
    CHECK_INT(apply("u+x", S_IFREG | 0644), 0744);
    CHECK_INT(apply("+x", S_IFREG | 0644), 0755);
    CHECK_INT(apply("a+x", S_IFREG | 0644), 0755);
    CHECK_INT(apply("go-rwx", S_IFREG | 0777), 0700);
    CHECK_INT(apply("g=r", S_IFREG | 0777), 0747);
    CHECK_INT(apply("ug=rw", S_IFREG | 0111), 0661);
    CHECK_INT(apply("o=", S_IFREG | 0777), 0770);
    CHECK_INT(apply("=", S_IFREG | 0777), 0);
    CHECK_INT(apply("uu+rr", S_IFREG | 0000), 0400);
}

TEST(capital_x_is_for_directories_and_what_runs)
{
    CHECK_INT(apply("a+X", S_IFREG | 0644), 0644);
    CHECK_INT(apply("a+X", S_IFREG | 0744), 0755);
    CHECK_INT(apply("a+X", S_IFDIR | 0644), 0755);
    CHECK_INT(apply("g+X", S_IFDIR | 0600), 0610);
}

TEST(the_sticky_bit_goes_with_others)
{
    CHECK_INT(apply("+t", S_IFDIR | 0777), 01777);
    CHECK_INT(apply("o+t", S_IFDIR | 0777), 01777);
    CHECK_INT(apply("u+t", S_IFDIR | 0777), 0777);
    CHECK_INT(apply("a-t", S_IFDIR | 01777), 0777);
    CHECK_INT(apply("u=rwx", S_IFDIR | 01077), 01777);
}

TEST(setuid_bits_survive_a_clause)
{
    CHECK_INT(apply("go-w", S_IFREG | 04777), 04755);
}

TEST(refuses_what_is_not_one_mode)
{
    static const char *const bad[] = {
        "",     "7",     "77",    "00755", "8",   "789", "u",   "u+z", "u+x,g+x", "u+x ",
        " 755", "755\n", "0x755", "x+u",   "u+s", "+-r", "u+g", "*",   "-1",      "ugo"
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        CHECK_INT(apply(bad[i], S_IFREG | 0644), -1);
}

int main(void)
{
    RUN(octal_digits_set_the_mode);
    RUN(a_clause_touches_only_its_classes);
    RUN(capital_x_is_for_directories_and_what_runs);
    RUN(the_sticky_bit_goes_with_others);
    RUN(setuid_bits_survive_a_clause);
    RUN(refuses_what_is_not_one_mode);
    return tap_done();
}
