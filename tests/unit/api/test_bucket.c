#include <errno.h>

#include "api/bucket.h"
#include "tap.h"

TEST(spends_one_burst_then_refills_at_the_rate)
{
    CLEANUP(bucket_free_p) struct bucket *b = NULL;

    CHECK_INT(bucket_new(600, 2, &b, NULL), 0);
    CHECK(bucket_take(b, 0) && bucket_take(b, 0));
    CHECK(!bucket_take(b, 99999) && bucket_take(b, 100000)); /* 600/min: next due at 100 ms */
    CHECK(bucket_take(b, UINT64_MAX) && bucket_take(b, UINT64_MAX));
    CHECK(!bucket_take(b, UINT64_MAX) && !bucket_take(b, 5)); /* idle is one burst; no going back */
    CHECK(bucket_last_us(b) == UINT64_MAX);
}

TEST(tells_how_long_to_wait)
{
    CLEANUP(bucket_free_p) struct bucket *b = NULL;

    CHECK_INT(bucket_new(1, 1, &b, NULL), 0);
    CHECK_INT(bucket_wait_us(b), 0);
    CHECK(bucket_take(b, 0));
    CHECK_INT(bucket_wait_us(b), 60000000);
    CHECK(!bucket_take(b, 59999999));
    CHECK_INT(bucket_wait_us(b), 1);
    CHECK(bucket_take(b, 60000000));
}

TEST(refuses_a_zero_rate_and_leaves_the_output_alone)
{
    struct bucket *b = NULL;
    struct err err = ERR_INIT;

    CHECK_INT(bucket_new(0, 1, &b, &err), -EINVAL);
    CHECK(b == NULL);
    CHECK_STR(err.msg, "rate 0/min, burst 1: both must be at least 1");
    CHECK_INT(bucket_new(1, 0, &b, &err), -EINVAL);
}

int main(void)
{
    RUN(spends_one_burst_then_refills_at_the_rate);
    RUN(tells_how_long_to_wait);
    RUN(refuses_a_zero_rate_and_leaves_the_output_alone);
    return tap_done();
}
