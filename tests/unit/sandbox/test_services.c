/* Which lists of services are accepted: what the table cannot say of them. */
#include "sandbox/exec/services.h"

#include <stdio.h>
#include <string.h>

#include "tap.h"

static int check(const char *text, struct err *err)
{
    JSON_OWNED list = json_loads(text, 0, NULL);
    CHECK(list != NULL);
    *err = (struct err)ERR_INIT;
    return services_check_list(list, err);
}

TEST(good_lists)
{
    static const char *const good[] = {
        "[]",
        "[{\"name\":\"a\",\"command\":\"x\"}]",
        "[{\"name\":\"A-1_b\",\"command\":\"x\",\"ready\":{\"port\":1}}]",
        "[{\"name\":\"a\",\"command\":\"x\",\"ready\":{\"port\":1,\"http\":\"/a?b=%20\"}}]",
        "[{\"name\":\"a\",\"command\":\"x\",\"ready\":{\"command\":[\"x\"]}}]",
        "[{\"name\":\"a\",\"dependsOn\":[\"b\",\"c\"]},{\"name\":\"b\",\"dependsOn\":[\"c\"]},{\"name\":\"c\"}]",
    };
    struct err err;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        CHECK_INT(check(good[i], &err), 0);
    CHECK_INT(services_check_list(NULL, &err), 0);
}

TEST(bad_lists)
{
    static const struct {
        const char *text, *why;
    } bad[] = {
        { "[{\"name\":\"\"}]", "letter or digit" },
        { "[{\"name\":\"-a\"}]", "letter or digit" },
        { "[{\"name\":\"a.b\"}]", "letter or digit" },
        { "[{\"name\":\"a\"},{\"name\":\"b\"},{\"name\":\"a\"}]", "two with the name a" },
        { "[{\"name\":\"a\",\"ready\":{}}]", "either" },
        { "[{\"name\":\"a\",\"ready\":{\"port\":1,\"command\":\"x\"}}]", "either" },
        { "[{\"name\":\"a\",\"ready\":{\"command\":\"x\",\"http\":\"/\"}}]", "goes with a port" },
        { "[{\"name\":\"a\",\"ready\":{\"port\":1,\"http\":\"a\"}}]", "path" },
        { "[{\"name\":\"a\",\"ready\":{\"port\":1,\"http\":\"/a b\"}}]", "path" },
        { "[{\"name\":\"a\",\"ready\":{\"port\":1,\"http\":\"/a\\r\\nX: y\"}}]", "path" },
        { "[{\"name\":\"a\",\"dependsOn\":[\"b\"]}]", "\"b\", which is not one of them" },
        { "[{\"name\":\"a\",\"dependsOn\":[\"a\"]}]", "a depends on itself" },
        { "[{\"name\":\"x\"},{\"name\":\"a\",\"dependsOn\":[\"b\"]},{\"name\":\"b\",\"dependsOn\":[\"x\",\"a\"]}]",
          "a depends on itself" },
    };
    struct err err;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        CHECK(check(bad[i].text, &err) < 0);
        CHECK_INT(err.code, ERR_INVALID);
        CHECK(strstr(err.msg, bad[i].why) != NULL);
        if (tap_bad)
            printf("# in case %zu: %s\n", i, err.msg);
    }
}

TEST(more_than_the_most)
{
    JSON_OWNED list = json_array();
    struct err err = ERR_INIT;
    for (int i = 0; i <= LIMIT_MAX(SERVICES); i++) {
        CHECK_INT(services_check_list(list, &err), 0);
        (void)json_array_append_new(list, json_pack("{s:o}", "name", json_sprintf("s%d", i)));
    }
    CHECK(services_check_list(list, &err) < 0);
    CHECK(strstr(err.msg, "17 entries") != NULL);
}

TEST(tags_of_logs)
{
    char tag[PROTO_TAG_MAX + 1];
    services_tag("web", tag);
    CHECK_STR(tag, ".service-web");
}

int main(void)
{
    RUN(good_lists);
    RUN(bad_lists);
    RUN(more_than_the_most);
    RUN(tags_of_logs);
    return tap_done();
}
