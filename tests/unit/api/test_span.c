/* W3C trace context. */
#include "api/span.h"

#include <string.h>

#include "tap.h"

#define TRACE  "4bf92f3577b34da6a3ce929d0e0e4736"
#define PARENT "00f067aa0ba902b7"

TEST(a_good_header_is_read)
{
    struct span s;
    CHECK(span_parse("00-" TRACE "-" PARENT "-01", &s));
    CHECK_STR(s.trace_id, TRACE);
    CHECK_STR(s.id, PARENT);
    CHECK(s.is_sampled);
    CHECK(span_parse("00-" TRACE "-" PARENT "-00", &s));
    CHECK(!s.is_sampled);
    CHECK(span_parse("00-" TRACE "-" PARENT "-ff", &s));
    CHECK(s.is_sampled);
    CHECK(span_parse("cc-" TRACE "-" PARENT "-01-what-the-future-brings", &s)); /* a later version */
}

TEST(bad_headers_are_ignored)
{
    static const char *const bad[] = {
        "",
        "00",
        "00-" TRACE "-" PARENT,
        "00-" TRACE "-" PARENT "-0",
        "00-" TRACE "-" PARENT "-0x",
        "00-" TRACE "-" PARENT "-01-",
        "cc-" TRACE "-" PARENT "-01x",
        "ff-" TRACE "-" PARENT "-01",
        "0-" TRACE "-" PARENT "-011",
        "00_" TRACE "-" PARENT "-01",
        "00-00000000000000000000000000000000-" PARENT "-01",
        "00-" TRACE "-0000000000000000-01",
        "00-4BF92F3577B34DA6A3CE929D0E0E4736-" PARENT "-01",
        "00-4bf92f3577b34da6a3ce929d0e0e473g-" PARENT "-01",
    };
    struct span s;
    CHECK(!span_parse(NULL, &s));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        CHECK(!span_parse(bad[i], &s));
}

TEST(a_span_continues_its_trace_or_begins_one)
{
    struct span parent, child, first;
    char text[SPAN_TEXT_MAX];
    CHECK(span_parse("00-" TRACE "-" PARENT "-00", &parent));
    span_begin(&parent, &child);
    CHECK_STR(child.trace_id, TRACE);
    CHECK_STR(child.parent_id, PARENT);
    CHECK(strcmp(child.id, PARENT) != 0);
    CHECK(!child.is_sampled);
    span_text(&child, text);
    CHECK(strncmp(text, "00-" TRACE "-", 36) == 0);
    CHECK(strcmp(text + 53, "00") == 0);

    span_begin(NULL, &first);
    CHECK(first.is_sampled);
    CHECK_STR(first.parent_id, "");
    span_text(&first, text);
    CHECK(span_parse(text, &parent));
    CHECK_STR(parent.id, first.id);
}

int main(void)
{
    RUN(a_good_header_is_read);
    RUN(bad_headers_are_ignored);
    RUN(a_span_continues_its_trace_or_begins_one);
    return tap_done();
}
