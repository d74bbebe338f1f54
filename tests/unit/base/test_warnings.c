/* Lists of warnings, and the known names that unknown ones are like. */
#include "base/nearest.h"
#include "base/warnings.h"
#include "tap.h"

static const char *const known[] = { "image", "name", "timeout", "memory", "idleTimeout", "env", "workdir", "diskMb" };

static void check_nearest(const char *name, const char *expected)
{
    struct nearest n = { .name = name };
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        nearest_offer(&n, known[i]);
    CHECK_STR(n.found, expected);
}

TEST(a_name_is_like_the_nearest_known_one)
{
    check_nearest("memroy", "memory");
    check_nearest("memory_mb", "memory");
    check_nearest("mem", "memory");
    check_nearest("idle_timeout", "idleTimeout");
    check_nearest("TIMEOUT", "timeout");
    check_nearest("nmae", "name");
    check_nearest("environment", "env");
    check_nearest("colour", "");
    check_nearest("x", "");
    check_nearest("", "");
    check_nearest("\xff\xfe", "");
    check_nearest("imageimageimageimageimageimageimage", ""); /* too long to be compared */
}

TEST(a_list_is_bounded_and_readable)
{
    JSON_OWNED list = NULL;
    JSON_OWNED more = NULL;
    struct err err = ERR_INIT;
    CHECK_INT(warnings_refuse(list, &err), 0);
    warnings_add_unknown(&list, "field", "a\xff", "b");
    CHECK_STR(json_string_value(json_array_get(list, 0)), "a\xef\xbf\xbd: unknown field; did you mean \"b\"?");
    warnings_add(&list, "second");
    CHECK(warnings_refuse(list, &err) < 0 && err.code == ERR_INVALID);
    CHECK_STR(err.msg, "a\xef\xbf\xbd: unknown field; did you mean \"b\"?; second");
    for (int i = 0; i < 100; i++)
        warnings_add(&more, "%0*d", i * 10, i);
    CHECK_INT(json_array_size(more), WARNINGS_MAX + 1);
    warnings_add_all(&list, more);
    CHECK_INT(json_array_size(list), WARNINGS_MAX + 1);
    CHECK_STR(json_string_value(json_array_get(list, WARNINGS_MAX)), "there are more warnings than these");
    CHECK(warnings_refuse(list, &err) < 0 && strlen(err.msg) < sizeof(err.msg));
}

int main(void)
{
    RUN(a_name_is_like_the_nearest_known_one);
    RUN(a_list_is_bounded_and_readable);
    return tap_done();
}
