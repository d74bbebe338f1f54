/* Frames of interpreter drivers: whole ones are read, halves wait, too long ones are refused; names of packages. */
#include <errno.h>
#include <string.h>

#include "sandbox/exec/interpreter.h"
#include "sandbox/exec/kernel_wire.h"
#include "tap.h"

TEST(a_frame_comes_back_as_it_was)
{
    char bytes[KERNEL_WIRE_HEADER + 5];
    struct kernel_wire_frame f = { 0 };
    kernel_wire_header(bytes, 0xfedcba98u, 'D', 5);
    memcpy(bytes + KERNEL_WIRE_HEADER, "12345", 5);
    CHECK(kernel_wire_next(bytes, sizeof(bytes), &f) == (int)sizeof(bytes));
    CHECK(f.number == 0xfedcba98u && f.letter == 'D' && f.len == 5 && memcmp(f.data, "12345", 5) == 0);
}

TEST(half_a_frame_waits)
{
    char bytes[KERNEL_WIRE_HEADER + 5] = { 0 };
    struct kernel_wire_frame f = { .number = 7 };
    kernel_wire_header(bytes, 1, 'o', 5);
    for (size_t n = 0; n < sizeof(bytes); n++)
        CHECK(kernel_wire_next(bytes, n, &f) == 0);
    CHECK(f.number == 7);
}

TEST(the_longest_frame_is_read_and_a_longer_one_is_refused_by_its_header)
{
    static char bytes[KERNEL_WIRE_HEADER + KERNEL_WIRE_PAYLOAD];
    struct kernel_wire_frame f = { 0 };
    kernel_wire_header(bytes, 1, 'r', KERNEL_WIRE_PAYLOAD);
    CHECK(kernel_wire_next(bytes, sizeof(bytes), &f) == (int)sizeof(bytes));
    CHECK(f.len == KERNEL_WIRE_PAYLOAD);
    kernel_wire_header(bytes, 1, 'r', KERNEL_WIRE_PAYLOAD + 1);
    CHECK(kernel_wire_next(bytes, KERNEL_WIRE_HEADER, &f) == -EBADMSG);
    kernel_wire_header(bytes, 1, 'r', UINT32_MAX);
    CHECK(kernel_wire_next(bytes, sizeof(bytes), &f) == -EBADMSG);
}

TEST(packages_are_words_and_never_options)
{
    static const char *const good[] = { "requests", "a==1.0", "a[b,c]>=1", "@scope/x@^1", "git+https://h/r", "./here" };
    static const char *const bad[] = { "", "-r", "--index-url=x", "a b", "a\tb", "a\n", "\x7f" };
    char name[258];
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        CHECK(interpreter_is_package(good[i]));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        CHECK(!interpreter_is_package(bad[i]));
    memset(name, 'x', sizeof(name));
    name[255] = '\0';
    CHECK(interpreter_is_package(name));
    name[255] = 'x';
    name[256] = '\0';
    CHECK(!interpreter_is_package(name));
}

int main(void)
{
    RUN(a_frame_comes_back_as_it_was);
    RUN(half_a_frame_waits);
    RUN(the_longest_frame_is_read_and_a_longer_one_is_refused_by_its_header);
    RUN(packages_are_words_and_never_options);
    return tap_done();
}
