/* Durations: every unit, sums, fractions, and what is refused. */
#include "cli/duration.h"

#include "tap.h"

static long long ms_of(const char *text)
{
    int64_t ms = -7;
    struct err err = ERR_INIT;
    int r = duration_parse(text, &ms, &err);
    if (r < 0)
        CHECK(err.code == ERR_INVALID && err.msg[0]);
    return r < 0 ? -1 : ms;
}

TEST(units)
{
    static const struct {
        const char *text;
        long long ms;
    } cases[] = {
        { "0", 0 },
        { " 0", 0 },
        { "1ms", 1 },
        { "5msec", 5 },
        { "1500us", 1 },
        { "999us", 0 },
        { "2000000ns", 2 },
        { "3000 usec", 3 },
        { "2s", 2000 },
        { "1sec", 1000 },
        { "1 second", 1000 },
        { "2seconds", 2000 },
        { "1m", 60000 },
        { "1min", 60000 },
        { "2minutes", 120000 },
        { "1h", 3600000 },
        { "2hrs", 7200000 },
        { "1hr", 3600000 },
        { "1d", 86400000 },
        { "2days", 172800000 },
        { "1w", 604800000 },
        { "1wk", 604800000 },
        { "1M", 2630016000LL },
        { "1y", 31557600000LL },
        { "2000\xc2\xb5s", 2 },
        { "1month", 2630016000LL },
        { "1yr", 31557600000LL },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        CHECK_INT(ms_of(cases[i].text), cases[i].ms);
}

TEST(sums_and_fractions)
{
    CHECK_INT(ms_of("1h20min"), 4800000);
    CHECK_INT(ms_of("1h 20min 3s"), 4803000);
    CHECK_INT(ms_of("  1s\t1ms "), 1001);
    CHECK_INT(ms_of("4.2s"), 4200);
    CHECK_INT(ms_of("0.0019s"), 1);
}

TEST(refused)
{
    static const char *const bad[] = { "",   "  ",           "30",    "1",   "-1s", "+1s",  "s",   "1x",
                                       "1S", "1 s s",        "1..2s", "1.s", ".5s", "1e3s", "inf", "0x1s",
                                       "00", "99999999999y", "1s2" };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        CHECK_INT(ms_of(bad[i]), -1);
}

int main(void)
{
    RUN(units);
    RUN(sums_and_fractions);
    RUN(refused);
    return tap_done();
}
