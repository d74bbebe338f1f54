/* A wall clock that is set neither ends something early nor keeps it for long. */
#include "base/clock.h"
#include "tap.h"

TEST(a_deadline_is_fixed_when_it_is_made)
{
    CHECK_INT(clock_deadline_us(5000, 2000, 70), 3000070);
    CHECK_INT(clock_deadline_us(2000, 2000, 70), 70);
    CHECK_INT(clock_deadline_us(1000, 2000, 70), 70);       /* over */
    CHECK_INT(clock_deadline_us(0, INT64_MAX / 2, 70), 70); /* a record of long ago, or a clock far ahead */
    CHECK(clock_deadline_us(253402300799000LL, 0, 70) > INT64_MAX / 1000); /* the year 9999 */
    CHECK(clock_deadline_us(INT64_MAX, 0, 70) == INT64_MAX);               /* a record that somebody damaged */
    CHECK(clock_deadline_us(INT64_MAX, 0, INT64_MAX) == INT64_MAX);
}

TEST(the_monotonic_clock_does_not_go_back)
{
    int64_t a = clock_mono_us(), b = clock_mono_us();
    CHECK(a > 0 && b >= a);
}

int main(void)
{
    RUN(a_deadline_is_fixed_when_it_is_made);
    RUN(the_monotonic_clock_does_not_go_back);
    return tap_done();
}
