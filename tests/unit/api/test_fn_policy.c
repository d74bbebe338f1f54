/* What the sandbox:: functions may do: made from settings of which nothing is kept, and held by those that go by it. */
#include "api/fn_policy.h"

#include "tap.h"

static void set(struct settings *s, const char *field, const char *text)
{
    const struct settings_row *row = settings_rows;
    while (row->field && strcmp(row->field, field) != 0)
        row++;
    CHECK_INT(settings_set(s, row, text, NULL), 0);
}

TEST(nothing_of_the_settings_is_kept)
{
    struct settings s;
    struct fn_policy *p = NULL;
    settings_init(&s);
    set(&s, "fn_image_allowlist", "node, mine");
    set(&s, "fn_custom_images", "mine=registry.example/a:1");
    set(&s, "fn_image_caps", "mine=2:");
    set(&s, "fn_max_execs", "0");
    CHECK_INT(fn_policy_new(&s, &p, NULL), 0);
    settings_done(&s);
    CHECK(fn_policy_allows(p, "node") && fn_policy_allows(p, "mine") && !fn_policy_allows(p, "python"));
    CHECK_STR(fn_policy_reference(p, "mine"), "registry.example/a:1");
    CHECK_INT(fn_policy_cap(p, "mine", "max_cpus", 9), 2);
    CHECK_INT(fn_policy_cap(p, "mine", "max_memory_mb", 9), 9);
    CHECK_INT(p->max_execs, 1);
    CHECK_INT(p->max_sandboxes, 32);
    fn_policy_unref(p);
}

TEST(a_holder_outlives_the_change)
{
    struct settings s;
    struct fn_policy *p = NULL;
    settings_init(&s);
    CHECK_INT(fn_policy_new(&s, &p, NULL), 0);
    struct fn_policy *call = fn_policy_ref(p);
    fn_policy_unref(p);
    CHECK(fn_policy_allows(call, "python"));
    fn_policy_unref(call);
    settings_done(&s);
}

TEST(malformed_entries_are_refused)
{
    static const char *const bad[][2] = { { "fn_custom_images", "mine" },
                                          { "fn_custom_images", "python=a" },
                                          { "fn_image_caps", "mine=2" },
                                          { "fn_image_caps", "mine=x:1" } };
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct settings s;
        struct fn_policy *p = NULL;
        struct err err = ERR_INIT;
        settings_init(&s);
        set(&s, bad[i][0], bad[i][1]);
        CHECK(fn_policy_new(&s, &p, &err) < 0 && !p && err.code == ERR_INVALID);
        settings_done(&s);
    }
}

int main(void)
{
    RUN(nothing_of_the_settings_is_kept);
    RUN(a_holder_outlives_the_change);
    RUN(malformed_entries_are_refused);
    return tap_done();
}
