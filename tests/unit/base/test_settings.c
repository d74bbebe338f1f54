#include <errno.h>

#include "base/err.h"
#include "base/ident.h"
#include "base/map.h"
#include "base/settings.h"
#include "tap.h"

TEST(every_default_is_valid)
{
    struct settings s = { 0 };
    for (const struct settings_row *row = settings_rows; row->field; row++) {
        struct err err = ERR_INIT;
        CHECK_INT(settings_set(&s, row, row->fallback, &err), 0);
        CHECK_STR(err.msg, "");
    }
    CHECK_INT(s.rest_port, 3111);
    CHECK_STR(s.api_prefix, "sandbox");
    settings_done(&s);
}

static const struct settings_row *row_of(const char *field)
{
    const struct settings_row *row = settings_rows;
    while (row->field && strcmp(row->field, field) != 0)
        row++;
    return row;
}

TEST(wrong_values_change_nothing_and_name_the_limit)
{
    struct settings s;
    struct err err = ERR_INIT;
    settings_init(&s);
    CHECK_INT(settings_set(&s, row_of("rest_port"), "65536", &err), -EINVAL);
    CHECK_STR(err.msg, "rest_port: 65536 is not between 0 and 65535");
    CHECK_INT(settings_set(&s, row_of("rest_port"), "12x", &err), -EINVAL);
    CHECK_INT(settings_set(&s, row_of("rest_port"), " 1", &err), -EINVAL);
    CHECK_INT(settings_set(&s, row_of("rate_limit"), "yes", &err), -EINVAL);
    CHECK_INT(settings_set(&s, row_of("api_prefix"), "", &err), -EINVAL);
    CHECK_INT(s.rest_port, 3111);
    settings_done(&s);
}

TEST(the_host_is_a_value_where_it_is_the_default)
{
    struct settings s;
    settings_init(&s);
    CHECK(s.max_memory_mb >= 4096 && s.max_cpus >= 4 && s.max_body_mb >= 64 && s.max_body_mb <= 1024);
    int64_t memory = s.max_memory_mb;
    CHECK_INT(settings_set(&s, row_of("max_memory_mb"), "128", NULL), 0);
    CHECK_INT(s.max_memory_mb, 128);
    CHECK_INT(settings_set(&s, row_of("max_memory_mb"), "host", NULL), 0);
    CHECK_INT(s.max_memory_mb, memory);
    CHECK_INT(settings_set(&s, row_of("rest_port"), "host", NULL), -EINVAL);
    settings_done(&s);
}

static void count_warning(void *arg, const char *text)
{
    CHECK(strstr(text, "max_sandboxes") != NULL);
    ++*(int *)arg;
}

TEST(the_environment_falls_back_with_a_warning)
{
    struct settings s;
    int warnings = 0;
    settings_init(&s);
    (void)setenv("III_MAX_SANDBOXES", "many", 1);
    (void)setenv("III_AUTH_TOKEN", "", 1);
    (void)setenv("III_REST_PORT", "0", 1);
    settings_from_env(&s, count_warning, &warnings);
    CHECK_INT(warnings, 1);
    CHECK_INT(s.max_sandboxes, 50);
    CHECK_STR(s.auth_token, "");
    CHECK_INT(s.rest_port, 0);
    settings_done(&s);
}

TEST(copies_are_compared_and_swapped_by_the_row)
{
    static const char *const changes[][2] = { { "host", "::1" }, { "rest_port", "7" }, { "log_json", "true" } };
    struct settings a, b;
    settings_init(&a);
    settings_copy(&b, &a);
    for (const struct settings_row *row = settings_rows; row->field; row++)
        CHECK(settings_is_same(&a, &b, row));
    for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++) {
        const struct settings_row *row = row_of(changes[i][0]);
        CHECK_INT(settings_set(&b, row, changes[i][1], NULL), 0);
        CHECK(!settings_is_same(&a, &b, row));
        settings_swap(&a, &b, row);
        CHECK(!settings_is_same(&a, &b, row));
    }
    CHECK_STR(a.host, "::1");
    CHECK_STR(b.host, "127.0.0.1");
    CHECK(a.rest_port == 7 && b.rest_port == 3111 && a.log_json && !b.log_json);
    CHECK_INT(a.engine_port, 49134); /* the neighbours stay */
    settings_done(&a);
    settings_done(&b);
}

TEST(ids_have_their_form)
{
    char a[IDENT_MAX], b[IDENT_MAX];
    ident_new("sbx", a);
    ident_new("sbx", b);
    CHECK(ident_is("sbx", a) && ident_is("sbx", b) && strcmp(a, b) != 0);
    CHECK(!ident_is("bg", a) && !ident_is("sbx", "sbx_12") && !ident_is("sbx", "sbx_00000000000000000000000G"));
}

TEST(errors_carry_kind_cause_and_context)
{
    struct err err = ERR_INIT;
    CHECK_INT(err_set(&err, ERR_INTERNAL, EACCES, "open %s", "x"), -EACCES);
    CHECK_STR(err.msg, "open x: Permission denied");
    CHECK_INT(err_wrap(&err, -5, "create %d", 1), -5);
    CHECK_STR(err.msg, "create 1: open x: Permission denied");
    CHECK_INT(err_status(ERR_NOT_FOUND), 404);
    CHECK_STR(err_name(ERR_TIMEOUT), "timed_out");
}

TEST(maps_keep_the_order_and_survive_removal_while_walking)
{
    struct map *m = map_new();
    char key[16];
    int values[300], seen = 0;
    for (int i = 0; i < 300; i++) {
        (void)snprintf(key, sizeof(key), "k%d", i);
        values[i] = i;
        map_set(m, key, &values[i]);
    }
    map_set(m, "k0", &values[299]);
    CHECK_INT(map_count(m), 300);
    for (struct map_iter it = map_iter(m); map_next(&it); seen++)
        if (seen % 2)
            CHECK(map_remove(m, it.key) == it.value);
    CHECK_INT(seen, 300);
    CHECK_INT(map_count(m), 150);
    CHECK(map_get(m, "k1") == NULL && map_get(m, "k2") == &values[2] && map_remove(m, "nope") == NULL);
    map_free(m);
}

int main(void)
{
    RUN(every_default_is_valid);
    RUN(wrong_values_change_nothing_and_name_the_limit);
    RUN(the_host_is_a_value_where_it_is_the_default);
    RUN(the_environment_falls_back_with_a_warning);
    RUN(copies_are_compared_and_swapped_by_the_row);
    RUN(ids_have_their_form);
    RUN(errors_carry_kind_cause_and_context);
    RUN(maps_keep_the_order_and_survive_removal_while_walking);
    return tap_done();
}
