/* The news of a clock that was set or of a host that slept, with a clock of our own: the kernel's timer is replaced by
 * a counter that becomes readable when the test says that the clock jumped. */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "loopturn.h"
#include "tap.h"
#include "vm/clock.h"

#define LATER_S (3600L * 24 * 365 * 100) /* a timer that ends sooner would be news of its own */

static struct {
    int fd, clock, flags; /* of the timer */
    unsigned armed;
    bool is_missing, is_stuck;
    time_t until;
} fake = { .fd = -1 };

int timerfd_create(clockid_t clock, int flags)
{
    if (fake.is_missing) {
        errno = EINVAL;
        return -1;
    }
    fake.clock = clock;
    fake.fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    return flags == (TFD_NONBLOCK | TFD_CLOEXEC) ? fake.fd : -1;
}

int timerfd_settime(int fd, int flags, const struct itimerspec *new_value, struct itimerspec *old_value)
{
    (void)old_value;
    if (fd != fake.fd || fake.is_stuck) {
        errno = EINVAL;
        return -1;
    }
    fake.armed++;
    fake.flags = flags;
    fake.until = new_value->it_value.tv_sec;
    return 0;
}

static void jump(void)
{
    CHECK(eventfd_write(fake.fd, 1) == 0);
}

static unsigned news;
static struct loop *loop;

static void on_news(void *arg)
{
    CHECK(arg == &news);
    news++;
}

/* What is to come has come by then: nothing else is under way. */
static void turn(void)
{
    loopturn_ms(loop, 50);
}

TEST(every_jump_is_told_once)
{
    struct vm_clock *c = vm_clock_new(loop, on_news, &news);
    CHECK(c && fake.clock == CLOCK_REALTIME && fake.armed == 1);
    CHECK(fake.flags == (TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET) && fake.until > time(NULL) + LATER_S);
    turn();
    CHECK(news == 0); /* nothing happened */
    for (unsigned i = 1; i <= 3; i++) {
        jump();
        turn();
        CHECK(news == i && fake.armed == i + 1); /* armed again: else the next one would not be seen */
    }
    jump();
    jump();
    turn();
    CHECK(news == 4); /* two before anybody looked are one */
    vm_clock_free(c);
    CHECK(eventfd_write(fake.fd, 1) < 0 && errno == EBADF);
}

TEST(a_timer_that_cannot_be_armed_again_does_not_spin)
{
    news = 0;
    struct vm_clock *c = vm_clock_new(loop, on_news, &news);
    CHECK(c);
    fake.is_stuck = true;
    jump();
    turn();
    CHECK(news == 1);
    jump();
    turn();
    CHECK(news == 1); /* readable for ever, and looked at by nobody */
    fake.is_stuck = false;
    vm_clock_free(c);
}

TEST(a_kernel_that_cannot_tell)
{
    fake.is_missing = true;
    CHECK(!vm_clock_new(loop, on_news, &news));
    fake.is_missing = false;
    fake.is_stuck = true;
    CHECK(!vm_clock_new(loop, on_news, &news));
    fake.is_stuck = false;
    CHECK(!vm_clock_free(NULL));
}

int main(void)
{
    struct err err = ERR_INIT;
    if (loop_new(&loop, &err) < 0)
        return 1;
    RUN(every_jump_is_told_once);
    RUN(a_timer_that_cannot_be_armed_again_does_not_spin);
    RUN(a_kernel_that_cannot_tell);
    loop_free(loop);
    return tap_done();
}
