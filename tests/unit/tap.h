/* A small TAP test kit. Tests are static, so one that is never RUN() is an unused-function warning (an error here). */
#pragma once
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int tap_count, tap_failed, tap_bad;

#define TEST(name) static void test_##name(void)
#define RUN(name)                                                          \
    do {                                                                   \
        tap_bad = 0;                                                       \
        test_##name();                                                     \
        tap_count++;                                                       \
        tap_failed += tap_bad != 0;                                        \
        printf("%sok %d - " #name "\n", tap_bad ? "not " : "", tap_count); \
        fflush(stdout);                                                    \
    } while (0)

/* Says why and counts as skipped; use as: SKIP(name, "needs root"). */
#define SKIP(name, why)                                            \
    do {                                                           \
        (void)test_##name;                                         \
        printf("ok %d - " #name " # SKIP " why "\n", ++tap_count); \
    } while (0)

#define CHECK(cond)                                             \
    do {                                                        \
        if (!(cond)) {                                          \
            tap_bad = 1;                                        \
            printf("# %s:%d: %s\n", __FILE__, __LINE__, #cond); \
        }                                                       \
    } while (0)
#define CHECK_INT(a, b)                                                                \
    do {                                                                               \
        long long a_ = (long long)(a), b_ = (long long)(b);                            \
        if (a_ != b_) {                                                                \
            tap_bad = 1;                                                               \
            printf("# %s:%d: %s is %lld, not %lld\n", __FILE__, __LINE__, #a, a_, b_); \
        }                                                                              \
    } while (0)
#define CHECK_STR(a, b)                                                                               \
    do {                                                                                              \
        const char *a_ = (a), *b_ = (b);                                                              \
        if (!a_ || !b_ || strcmp(a_, b_) != 0) {                                                      \
            tap_bad = 1;                                                                              \
            printf("# %s:%d: %s is \"%s\", not \"%s\"\n", __FILE__, __LINE__, #a, a_ ? a_ : "(null)", \
                   b_ ? b_ : "(null)");                                                               \
        }                                                                                             \
    } while (0)

static inline int tap_done(void)
{
    printf("1..%d\n", tap_count);
    return tap_failed != 0;
}
