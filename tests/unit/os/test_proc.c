/* Reading /proc/PID/stat, whose second field is whatever a process calls itself. */
#include "os/proc.h"
#include "tap.h"

TEST(fields_are_counted_from_the_end_of_the_name)
{
    const char *text = "17 (a) Z 1 (b) S 4 5 6\n";
    CHECK(*proc_stat_field(text, 3) == 'S');
    CHECK_INT(strtol(proc_stat_field(text, 4), NULL, 10), 4);
    CHECK_INT(strtol(proc_stat_field(text, 6), NULL, 10), 6);
    CHECK(!proc_stat_field(text, 7));
    CHECK(!proc_stat_field("no such shape", 3));
    CHECK(!proc_stat_field("", 3));
}

TEST(a_start_time_is_that_of_the_process)
{
    CHECK(proc_start_time(getpid()) >= proc_start_time(getppid()));
    CHECK(proc_start_time(getpid()) > 0);
    CHECK(proc_start_time(0x7fffffff) == 0);
}

int main(void)
{
    RUN(fields_are_counted_from_the_end_of_the_name);
    RUN(a_start_time_is_that_of_the_process);
    return tap_done();
}
