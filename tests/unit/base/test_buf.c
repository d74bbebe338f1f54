#include <errno.h>

#include "base/buf.h"
#include "tap.h"

TEST(grows_and_stays_terminated)
{
    struct buf b = BUF_INIT(1000);
    CHECK_STR(buf_text(&b), "");
    for (int i = 0; i < 100; i++)
        CHECK_INT(buf_addf(&b, "%d,", i % 10), 0);
    CHECK_INT(b.len, 200);
    CHECK_INT(b.data[b.len], 0);
    buf_done(&b);
}

TEST(refuses_to_pass_its_maximum_and_adds_nothing_then)
{
    struct buf b = BUF_INIT(5);
    CHECK_INT(buf_add_str(&b, "abc"), 0);
    CHECK_INT(buf_add_str(&b, "def"), -E2BIG);
    CHECK_STR(buf_text(&b), "abc");
    CHECK_INT(buf_add_str(&b, "de"), 0);
    CHECK_INT(buf_add_char(&b, 'x'), -E2BIG);
    CHECK_INT(buf_reserve(&b, (size_t)-1), -E2BIG);
    buf_done(&b);
}

TEST(consumes_from_the_front_and_can_be_stolen)
{
    struct buf b = BUF_INIT(100);
    size_t len = 9;
    (void)buf_add_str(&b, "hello world");
    buf_consume(&b, 6);
    CHECK_STR(buf_text(&b), "world");
    buf_consume(&b, 50);
    CHECK_INT(b.len, 0);
    (void)buf_add_str(&b, "x");
    char *s = buf_steal(&b, &len);
    CHECK_STR(s, "x");
    CHECK_INT(len, 1);
    free(s);
    s = buf_steal(&b, NULL);
    CHECK_STR(s, "");
    free(s);
}

int main(void)
{
    RUN(grows_and_stays_terminated);
    RUN(refuses_to_pass_its_maximum_and_adds_nothing_then);
    RUN(consumes_from_the_front_and_can_be_stolen);
    return tap_done();
}
