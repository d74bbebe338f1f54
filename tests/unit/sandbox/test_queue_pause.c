/* The pause before another try doubles from half a second to half a minute, whatever the number of tries. */
#include <stdint.h>

#include "sandbox/exec/queue.h"
#include "tap.h"

TEST(the_pause_doubles_and_is_capped)
{
    CHECK_INT(queue_pause_ms(0), 500);
    CHECK_INT(queue_pause_ms(1), 500);
    CHECK_INT(queue_pause_ms(2), 1000);
    CHECK_INT(queue_pause_ms(3), 2000);
    CHECK_INT(queue_pause_ms(6), 16000);
    CHECK_INT(queue_pause_ms(7), 30000);
    CHECK_INT(queue_pause_ms(INT64_MAX), 30000);
    CHECK_INT(queue_pause_ms(-1), 500);
}

int main(void)
{
    RUN(the_pause_doubles_and_is_capped);
    return tap_done();
}
