/* The counter's rate: the same each time, and that of a look that takes longer. */
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "tap.h"
#include "vm/vmm/vmm.h"

#if defined(__x86_64__)
#include <x86intrin.h>

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* Both clocks at one moment: a reading that was interrupted does not count. */
static int64_t read_both(uint64_t *ticks)
{
    int64_t before;
    do {
        before = now_ns();
        *ticks = __rdtsc();
    } while (now_ns() - before > 100000);
    return before;
}

static bool is_near(unsigned long a, unsigned long b)
{
    unsigned long most = b / 100;
    return a > b ? a - b <= most : b - a <= most;
}

TEST(rate)
{
    const struct timespec window = { .tv_nsec = 100000000 };
    uint64_t first, last;
    int64_t begun = read_both(&first);
    nanosleep(&window, NULL);
    int64_t ended = read_both(&last);
    unsigned long expected = (unsigned long)((double)(last - first) * 1e6 / (double)(ended - begun));
    for (int i = 0; i < 5; i++) {
        unsigned long khz = vmm_tsc_khz();
        CHECK(khz > 100000 && is_near(khz, expected));
    }
}

int main(void)
{
    RUN(rate);
    return tap_done();
}
#else
int main(void)
{
    return tap_done();
}
#endif
