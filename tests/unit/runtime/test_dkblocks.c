/* The output of an exec, as engines send it and as they should not. */
#include "runtime/docker/dkblocks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "tap.h"

static void add(struct dkblocks *b, const char *data, size_t len)
{
    CHECK_INT(dkblocks_add(b, data, len), 0);
}
#define ADD(b, text) add(b, text, sizeof(text) - 1)

static bool gives(struct dkblocks *b, size_t max, bool is_stderr, const char *text)
{
    struct dkblocks_piece p;
    bool is = dkblocks_next(b, max, &p) == 1 && p.is_stderr == is_stderr && p.len == strlen(text) &&
              memcmp(p.data, text, p.len) == 0;
    if (is)
        dkblocks_take(b, p.len);
    return is;
}

TEST(streams_are_told_apart_however_they_are_cut)
{
    struct dkblocks b;
    struct dkblocks_piece p;
    dkblocks_init(&b);
    ADD(&b, "\1\0\0\0\0\0\0\3ab");
    CHECK(gives(&b, 1, false, "a"));
    CHECK(gives(&b, 9, false, "b"));
    CHECK_INT(dkblocks_next(&b, 9, &p), 0);
    ADD(&b, "c\2\0\0\0\0");
    CHECK(gives(&b, 9, false, "c"));
    CHECK_INT(dkblocks_next(&b, 9, &p), 0);
    ADD(&b, "\0\0\2de\3\0\0\0\0\0\0\1f");
    CHECK(gives(&b, 9, true, "de"));
    CHECK(gives(&b, 9, false, "f"));
    dkblocks_done(&b);
}

TEST(an_empty_block_does_not_hide_the_next)
{
    struct dkblocks b;
    struct dkblocks_piece p;
    dkblocks_init(&b);
    ADD(&b, "\1\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\2\0\0\0\0\0\0\1x");
    CHECK(gives(&b, 9, true, "x"));
    CHECK_INT(dkblocks_next(&b, 9, &p), 0);
    dkblocks_done(&b);
}

TEST(without_room_nothing_is_given_and_nothing_lost)
{
    struct dkblocks b;
    struct dkblocks_piece p;
    dkblocks_init(&b);
    ADD(&b, "\1\0\0\0\0\0\0\1x");
    CHECK_INT(dkblocks_next(&b, 0, &p), 0);
    CHECK(gives(&b, 1, false, "x"));
    dkblocks_done(&b);
}

TEST(what_is_no_block_is_refused)
{
    static const char *const heads[] = { "\4\0\0\0\0\0\0\1", "\1\1\0\0\0\0\0\1", "\1\0\1\0\0\0\0\1",
                                         "\1\0\0\1\0\0\0\1" };
    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
        struct dkblocks b;
        struct dkblocks_piece p;
        dkblocks_init(&b);
        add(&b, heads[i], 8);
        CHECK_INT(dkblocks_next(&b, 9, &p), -EBADMSG);
        dkblocks_done(&b);
    }
}

TEST(an_engine_that_does_not_wait_is_refused)
{
    struct dkblocks b;
    CLEANUP(free_p) char *much = xzalloc(300 * 1024);
    dkblocks_init(&b);
    CHECK(!dkblocks_is_full(&b));
    CHECK_INT(dkblocks_add(&b, much, 300 * 1024), 0);
    CHECK(dkblocks_is_full(&b));
    CHECK_INT(dkblocks_add(&b, much, 300 * 1024), -E2BIG);
    dkblocks_done(&b);
}

int main(void)
{
    RUN(streams_are_told_apart_however_they_are_cut);
    RUN(an_empty_block_does_not_hide_the_next);
    RUN(without_room_nothing_is_given_and_nothing_lost);
    RUN(what_is_no_block_is_refused);
    RUN(an_engine_that_does_not_wait_is_refused);
    return tap_done();
}
