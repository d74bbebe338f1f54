/* check.h: checks that name themselves. A failed one is told and counted; the program goes on. */
#pragma once
#include <stdio.h>
#include <string.h>

static int check_failures, check_count;

#define CHECK(what)                                                                   \
    do {                                                                              \
        check_count++;                                                                \
        if (!(what)) {                                                                \
            check_failures++;                                                         \
            fprintf(stderr, "%s:%d: %s: does not hold\n", __func__, __LINE__, #what); \
        }                                                                             \
    } while (0)

#define CHECK_TEXT(got, wanted)                                                                                    \
    do {                                                                                                           \
        const char *got_ = (got);                                                                                  \
        check_count++;                                                                                             \
        if (!got_ || strcmp(got_, (wanted)) != 0) {                                                                \
            check_failures++;                                                                                      \
            fprintf(stderr, "%s:%d: %s is \"%s\", not \"%s\"\n", __func__, __LINE__, #got, got_ ? got_ : "(null)", \
                    wanted);                                                                                       \
        }                                                                                                          \
    } while (0)

static int check_result(void)
{
    printf("%d checks, %d failed\n", check_count, check_failures);
    return check_failures == 0 && check_count > 0 ? 0 : 1;
}
