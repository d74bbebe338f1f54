#include <errno.h>

#include "base/cron.h"
#include "tap.h"

#define T0 1700000000000ll /* 2023-11-14 22:13:20 UTC, a Tuesday */

static int64_t next_of(const char *text)
{
    struct cron c;
    return cron_parse(text, &c, NULL) < 0 ? -2 : cron_next(&c, T0);
}

TEST(finds_the_next_moment)
{
    CHECK_INT(next_of("*/30 * * * * *"), T0 + 10000);
    CHECK_INT(next_of("* * * * * *"), T0 + 1000);
    CHECK_INT(next_of("* * * * *"), T0 + 40000);
    CHECK_INT(next_of("0 0 23 * * *"), T0 + (46 * 60 + 40) * 1000);
    CHECK_INT(next_of("0 0 0 15 11 *"), T0 + (60 * 106 + 40) * 1000);
    CHECK_INT(next_of("0 0 0 * * wed"), T0 + (60 * 106 + 40) * 1000);
    CHECK_INT(next_of("0 0 0 * * 3,4"), T0 + (60 * 106 + 40) * 1000);
    CHECK_INT(next_of("5/20 * * * * *"), T0 + 5000);
}

/* Whatever the clock says: the next moment is the next one of that clock, never in its past. */
TEST(follows_a_clock_that_was_set)
{
    struct cron minutely, leap;
    CHECK_INT(cron_parse("0 * * * * *", &minutely, NULL), 0);
    CHECK_INT(cron_parse("0 0 0 29 feb *", &leap, NULL), 0);
    CHECK_INT(cron_next(&minutely, 0), 60000); /* a board without a battery: 1970 */
    CHECK_INT(cron_next(&minutely, T0 + 365 * 86400000ll), T0 + 365 * 86400000ll + 40000); /* a year ahead */
    CHECK_INT(cron_next(&minutely, T0 - 365 * 86400000ll), T0 - 365 * 86400000ll + 40000); /* a year back */
    CHECK_INT(cron_next(&minutely, 253402300799000ll), 253402300800000ll); /* the end of the year 9999 */
    CHECK_INT(cron_next(&leap, 0), 68169600000ll);                         /* 1972 */
    CHECK_INT(cron_next(&leap, 68169600000ll), 68169600000ll + 1461 * 86400000ll);
}

TEST(knows_when_there_is_none)
{
    CHECK_INT(next_of("0 0 0 30 2 *"), -1);
    CHECK_INT(next_of("0 0 0 29 feb *") > T0, 1);
}

TEST(refuses_what_is_no_expression)
{
    static const char *const bad[] = { "",
                                       "* * * *",
                                       "* * * * * * *",
                                       "60 * * * * *",
                                       "* * 24 * * *",
                                       "a * * * * *",
                                       "*/0 * * * * *",
                                       "5-1 * * * * *",
                                       "1,,2 * * * * *",
                                       "* * * 0 * *",
                                       "* * * * 13 *",
                                       "1- * * * * *",
                                       "99999999999999 * * * * *",
                                       "*5 * * * * *" };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        CHECK_INT(next_of(bad[i]), -2);
    struct cron c;
    struct err err = ERR_INIT;
    CHECK_INT(cron_parse("* 99 * * * *", &c, &err), -EINVAL);
    CHECK(strstr(err.msg, "minute") && strstr(err.msg, "0 to 59"));
}

int main(void)
{
    RUN(finds_the_next_moment);
    RUN(follows_a_clock_that_was_set);
    RUN(knows_when_there_is_none);
    RUN(refuses_what_is_no_expression);
    return tap_done();
}
