#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "image/registry_auth.h"
#include "tap.h"

TEST(reads_challenges)
{
    static const struct {
        const char *text, *realm, *service, *scope;
        bool is_basic;
    } cases[] = {
        { "Bearer realm=\"https://a/t\",service=\"s\",scope=\"repository:x:pull\"", "https://a/t", "s",
          "repository:x:pull", false },
        { "bearer REALM=\"http://a\" , scope=x", "http://a", "", "x", false },
        { "Bearer realm=\"https://a/\\\"q\\\\\"", "https://a/\"q\\", "", "", false },
        { "Bearer realm=\"https://a\", error=\"insufficient\", Basic realm=\"x\"", "https://a", "", "", false },
        { "Basic realm=\"x\"", "", "", "", true },
        { "  basic", "", "", "", true },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct registry_auth_challenge c = { 0 };
        CHECK_INT(registry_auth_parse_challenge(cases[i].text, &c, NULL), 0);
        CHECK(c.is_basic == cases[i].is_basic);
        CHECK_STR(c.realm, cases[i].realm);
        CHECK_STR(c.service, cases[i].service);
        CHECK_STR(c.scope, cases[i].scope);
    }
}

TEST(refuses_challenges_it_cannot_follow)
{
    CLEANUP(free_p) char *long_value = xzalloc(REGISTRY_AUTH_FIELD + 64);
    memcpy(long_value, "Bearer realm=\"https://", 22);
    memset(long_value + 22, 'a', REGISTRY_AUTH_FIELD);
    memcpy(long_value + 22 + REGISTRY_AUTH_FIELD, "\"", 2);
    const char *const bad[] = { "",
                                "Negotiate",
                                "Bearer",
                                "Bearer service=x",
                                "Bearer realm=file:///x",
                                "Bearer realm=\"https://a",
                                "Bearer realm=\"https://a\x01\"",
                                long_value };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct registry_auth_challenge c;
        struct err err = ERR_INIT;
        CHECK(registry_auth_parse_challenge(bad[i], &c, &err) < 0);
        CHECK_INT(err.code, ERR_UPSTREAM);
    }
}

TEST(reads_tokens_and_refuses_the_rest)
{
    static const char *const good[] = { "{\"token\":\"abc\"}", "{\"access_token\":\"abc\",\"expires_in\":60}",
                                        "{\"token\":null,\"access_token\":\"abc\"}" };
    static const char *const bad[] = {
        "", "{}", "[]", "{\"token\":1}", "{\"token\":\"\"}", "{\"token\":\"a\\r\\nX: y\"}", "{\"token\":\"a b\"}"
    };
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        CLEANUP(free_p) char *token = NULL;
        CHECK_INT(registry_auth_parse_token(good[i], strlen(good[i]), &token, NULL), 0);
        CHECK_STR(token, "abc");
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        CLEANUP(free_p) char *token = NULL;
        CHECK(registry_auth_parse_token(bad[i], strlen(bad[i]), &token, NULL) < 0);
        CHECK(token == NULL);
    }
    CLEANUP(free_p) char *huge = xzalloc(REGISTRY_AUTH_TOKEN + 32);
    memcpy(huge, "{\"token\":\"", 10);
    memset(huge + 10, 'a', REGISTRY_AUTH_TOKEN + 1);
    memcpy(huge + 10 + REGISTRY_AUTH_TOKEN + 1, "\"}", 3);
    CLEANUP(free_p) char *token = NULL;
    CHECK(registry_auth_parse_token(huge, strlen(huge), &token, NULL) < 0);
}

int main(void)
{
    RUN(reads_challenges);
    RUN(refuses_challenges_it_cannot_follow);
    RUN(reads_tokens_and_refuses_the_rest);
    return tap_done();
}
