/* Starts of boxes: how many at the same time, and whose turn it is. */
#include "sandbox/lifecycle/starts.h"

#include <string.h>

#include "tap.h"

static char seen[32]; /* the tenants in the order of their starts */

static void go(void *arg)
{
    size_t n = strlen(seen);
    seen[n] = *(const char *)arg;
    seen[n + 1] = '\0';
}

static void begin(struct starts *st, char *tenant)
{
    starts_begin(st, tenant, go, tenant);
}

TEST(a_burst_delays_another_tenant_by_one_start)
{
    struct starts *st = starts_new(2);
    char a[] = "a", b[] = "b", c[] = "c";
    for (int i = 0; i < 5; i++)
        begin(st, a);
    CHECK_STR(seen, "aa"); /* all that there are, as long as nobody else wants one */
    begin(st, b);
    begin(st, b);
    begin(st, c);
    CHECK_STR(seen, "aa");
    starts_done(st, a);
    CHECK_STR(seen, "aab");
    starts_done(st, a); /* nobody else has less than a now, who came first */
    CHECK_STR(seen, "aaba");
    starts_done(st, b);
    CHECK_STR(seen, "aabab");
    starts_done(st, b);
    CHECK_STR(seen, "aababc");
    starts_done(st, a);
    starts_done(st, c);
    CHECK_STR(seen, "aababcaa");
    starts_done(st, a);
    starts_done(st, a);
    starts_free(st);
}

struct quick {
    struct starts *st;
    int left;
};

static void go_and_end(void *arg)
{
    struct quick *q = arg;
    q->left--;
    starts_done(q->st, "a");
}

TEST(starts_that_fail_at_once_use_no_stack)
{
    struct quick q = { .st = starts_new(1), .left = 100000 };
    starts_begin(q.st, "b", go, (char[]){ "b" });
    for (int i = 0; i < 100000; i++)
        starts_begin(q.st, "a", go_and_end, &q);
    CHECK_INT(q.left, 100000);
    starts_done(q.st, "b");
    CHECK_INT(q.left, 0);
    starts_free(q.st);
}

int main(void)
{
    RUN(a_burst_delays_another_tenant_by_one_start);
    RUN(starts_that_fail_at_once_use_no_stack);
    return tap_done();
}
