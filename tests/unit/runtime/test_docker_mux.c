/* The output of an exec, as engines send it and as they should not. */
#include "runtime/docker/mux.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "tap.h"

static void add(struct docker_mux *b, const char *data, size_t len)
{
    CHECK_INT(docker_mux_add(b, data, len), 0);
}
#define ADD(b, text) add(b, text, sizeof(text) - 1)

static bool gives(struct docker_mux *b, size_t max, bool is_stderr, const char *text)
{
    struct docker_mux_piece p;
    bool is = docker_mux_next(b, max, &p) == 1 && p.is_stderr == is_stderr && p.len == strlen(text) &&
              memcmp(p.data, text, p.len) == 0;
    if (is)
        docker_mux_take(b, p.len);
    return is;
}

TEST(streams_are_told_apart_however_they_are_cut)
{
    struct docker_mux b;
    struct docker_mux_piece p;
    docker_mux_init(&b);
    ADD(&b, "\1\0\0\0\0\0\0\3ab");
    CHECK(gives(&b, 1, false, "a"));
    CHECK(gives(&b, 9, false, "b"));
    CHECK_INT(docker_mux_next(&b, 9, &p), 0);
    ADD(&b, "c\2\0\0\0\0");
    CHECK(gives(&b, 9, false, "c"));
    CHECK_INT(docker_mux_next(&b, 9, &p), 0);
    ADD(&b, "\0\0\2de\3\0\0\0\0\0\0\1f");
    CHECK(gives(&b, 9, true, "de"));
    CHECK(gives(&b, 9, false, "f"));
    docker_mux_done(&b);
}

TEST(an_empty_block_does_not_hide_the_next)
{
    struct docker_mux b;
    struct docker_mux_piece p;
    docker_mux_init(&b);
    ADD(&b, "\1\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\2\0\0\0\0\0\0\1x");
    CHECK(gives(&b, 9, true, "x"));
    CHECK_INT(docker_mux_next(&b, 9, &p), 0);
    docker_mux_done(&b);
}

TEST(without_room_nothing_is_given_and_nothing_lost)
{
    struct docker_mux b;
    struct docker_mux_piece p;
    docker_mux_init(&b);
    ADD(&b, "\1\0\0\0\0\0\0\1x");
    CHECK_INT(docker_mux_next(&b, 0, &p), 0);
    CHECK(gives(&b, 1, false, "x"));
    docker_mux_done(&b);
}

TEST(what_is_no_block_is_refused)
{
    static const char *const heads[] = { "\4\0\0\0\0\0\0\1", "\1\1\0\0\0\0\0\1", "\1\0\1\0\0\0\0\1",
                                         "\1\0\0\1\0\0\0\1" };
    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
        struct docker_mux b;
        struct docker_mux_piece p;
        docker_mux_init(&b);
        add(&b, heads[i], 8);
        CHECK_INT(docker_mux_next(&b, 9, &p), -EBADMSG);
        docker_mux_done(&b);
    }
}

TEST(an_engine_that_does_not_wait_is_refused)
{
    struct docker_mux b;
    CLEANUP(free_p) char *much = xzalloc(300 * 1024);
    docker_mux_init(&b);
    CHECK(!docker_mux_is_full(&b));
    CHECK_INT(docker_mux_add(&b, much, 300 * 1024), 0);
    CHECK(docker_mux_is_full(&b));
    CHECK_INT(docker_mux_add(&b, much, 300 * 1024), -E2BIG);
    docker_mux_done(&b);
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
