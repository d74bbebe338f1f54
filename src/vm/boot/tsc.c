#include "vm/boot/tsc.h"

#include <stdint.h>
#include <time.h>

#if defined(__x86_64__)
#include <x86intrin.h>

#define WINDOW_NS 1000000
#define TRIES     8 /* for a reading that was not interrupted */

struct moment {
    uint64_t ticks;
    int64_t ns;
};

static int64_t now_ns(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC_RAW, &t); /* cannot fail for this clock */
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* Reads both clocks as close together as possible. */
static struct moment clocks_read(void)
{
    struct moment best = { 0 };
    int64_t narrowest = INT64_MAX;
    for (int i = 0; i < TRIES; i++) {
        int64_t before = now_ns();
        uint64_t ticks = __rdtsc();
        int64_t after = now_ns();
        if (after - before < narrowest) {
            narrowest = after - before;
            best = (struct moment){ .ticks = ticks, .ns = before + narrowest / 2 };
        }
    }
    return best;
}

unsigned long vm_tsc_khz(void)
{
    const struct timespec window = { .tv_nsec = WINDOW_NS };
    struct moment first = clocks_read();
    (void)nanosleep(&window, NULL); /* an interrupted sleep only makes it less exact */
    struct moment last = clocks_read();
    return last.ns > first.ns && last.ticks > first.ticks
               ? (unsigned long)((double)(last.ticks - first.ticks) * 1e6 / (double)(last.ns - first.ns))
               : 0;
}
#else
unsigned long vm_tsc_khz(void)
{
    return 0;
}
#endif
