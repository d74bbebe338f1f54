#include <errno.h>
#include <string.h>

#include "image/image_policy.h"
#include "image/name_pattern.h"
#include "tap.h"

#define HEX "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define KEY                                                                                                            \
    "\"-----BEGIN PUBLIC KEY-----\\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEW91KTA7WYVs+Rr5Y9DX4QPmKqkG4\\nLykCVvB1iUtAXu" \
    "JYB37ldbt7CjSSd44gP6x4XxZ7brVjvuUwAUNU+XU43Q==\\n-----END PUBLIC KEY-----\\n\""

static struct image_policy *policy(const char *text)
{
    struct image_policy *p = NULL;
    struct err err = ERR_INIT;
    if (image_policy_new(text, &p, &err) < 0)
        printf("# %s: %s\n", text, err.msg);
    return p;
}

TEST(no_spelling_evades_a_rule)
{
    CLEANUP(image_policy_free_p)
    struct image_policy *p =
        policy("{\"signatures\": [{\"images\": [\"ghcr.io/acme/*\", \"quay.io/acme/app\", \"python\"], "
               "\"keys\": [" KEY "]}]}");
    static const struct {
        const char *name;
        bool has_rule;
    } cases[] = {
        { "ghcr.io/acme/app", true },
        { "ghcr.io/acme/app:1", true },
        { "ghcr.io/acme/deep/app@sha256:" HEX, true },
        { "GHCR.io/acme/app", true },
        { "ghcr.io:443/acme/app", true },
        { "ghcr.io:80/acme/app:2", true },
        { "oci:ghcr.io/acme/app", true },
        { "ghcr.io/acmes/app", false },
        { "quay.io/acme/app:7", true }, /* a pattern without a tag is the whole repository */
        { "quay.io/acme/app@sha256:" HEX, true },
        { "quay.io/acme/app:7@sha256:" HEX, true },
        { "quay.io/acme/apple", false },
        { "docker.io/iiidev/python", true }, /* the preset's own image */
        { "python", true },
        { "docker.io/library/python:3", true },
        { "index.docker.io/iiidev/python", true },
        { "registry-1.docker.io/iiidev/python", true },
        { "docker.io/library/alpine", false },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (!image_policy_rule(p, cases[i].name) == cases[i].has_rule)
            printf("# %s\n", cases[i].name);
        CHECK_INT(image_policy_rule(p, cases[i].name) != NULL, cases[i].has_rule);
    }
}

TEST(the_first_rule_that_matches_applies)
{
    CLEANUP(image_policy_free_p)
    struct image_policy *p = policy("{\"signatures\": [{\"images\": [\"docker.io/library/*\"], \"unsigned\": true}, "
                                    "{\"images\": [\"*\"], \"keys\": [" KEY "]}]}");
    CHECK(!image_policy_rule(p, "alpine"));
    CHECK(image_policy_rule(p, "team/alpine") != NULL);
    CHECK(image_policy_rule(p, "not a/reference at all") != NULL);
    CHECK(!image_policy_rule(NULL, "team/alpine"));
}

TEST(a_stored_image_needs_its_evidence)
{
    CLEANUP(image_policy_free_p)
    struct image_policy *p = policy("{\"signatures\": [{\"images\": [\"*\"], \"keys\": [" KEY "]}]}");
    static const struct {
        const char *record;
        int result;
    } cases[] = {
        { "{\"name\": \"x\", \"id\": \"sha256:" HEX "\", \"source\": \"oci\"}", -EACCES },
        { "{\"name\": \"x\", \"id\": \"sha256:" HEX
          "\", \"source\": \"oci\", \"signedBy\": \"key\", \"signature\": {}}",
          -EACCES },
        { "{\"name\": \"shell\", \"id\": \"host\", \"source\": \"host\"}", 0 },
        { "{\"name\": \"build-cache/x\", \"id\": \"sha256:" HEX "\", \"source\": \"layer\"}", 0 },
        { "{\"name\": \"build-cache/x\", \"id\": \"sha256:" HEX "\", \"source\": \"oci\"}", -EACCES }, /* was pulled */
        { "{\"name\": \"x\", \"id\": \"sha256:" HEX "\", \"source\": \"layer\"}", -EACCES },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        JSON_OWNED record = json_loads(cases[i].record, 0, NULL);
        struct err err = ERR_INIT;
        int r = image_policy_check(p, record, NULL, &err);
        CHECK_INT(r < 0, cases[i].result < 0);
        CHECK(r == 0 || (err.code == ERR_FORBIDDEN && strstr(err.msg, "images.policy") && strstr(err.msg, "cosign")));
        CHECK_INT(image_policy_check(NULL, record, NULL, &err), 0);
    }
}

TEST(registries_are_listed_by_name_domain_or_all)
{
    CLEANUP(image_policy_free_p)
    struct image_policy *p =
        policy("{\"registries\": [\"ghcr.io\", \"*.corp.example:5000\", \"docker.io\"], \"tenants\": {\"a\": "
               "{\"registries\": [\"ghcr.io\"]}, \"b\": {\"registries\": []}}}");
    static const struct {
        const char *tenant, *name;
        bool is_allowed;
    } cases[] = { { "", "ghcr.io/x/y", true },
                  { "", "GHCR.IO:443/x/y", true },
                  { "", "alpine", true },
                  { "", "registry-1.docker.io/library/alpine", true },
                  { "", "quay.io/x", false },
                  { "", "evil-ghcr.io/x", false },
                  { "", "ghcr.io.evil/x", false },
                  { "", "r.corp.example:5000/x", true },
                  { "", "r.corp.example:5001/x", false },
                  { "", "corp.example:5000/x", false },
                  { "a", "ghcr.io/x", true },
                  { "a", "alpine", false },
                  { "b", "ghcr.io/x", false },
                  { "c", "ghcr.io/x", true } };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct err err = ERR_INIT;
        CHECK_INT(image_policy_may_pull(p, cases[i].tenant, cases[i].name, &err) == 0, cases[i].is_allowed);
        CHECK(cases[i].is_allowed || err.code == ERR_FORBIDDEN);
    }
    CHECK_INT(image_policy_may_pull(NULL, "", "quay.io/x", NULL), 0);
}

TEST(what_cannot_be_read_is_an_error)
{
    static const struct {
        const char *text, *names;
    } cases[] = {
        { "{", "III_IMAGE_POLICY" },
        { "[]", "must be an object" },
        { "{\"registry\": []}", "unknown member \"registry\"" },
        { "{\"registries\": \"ghcr.io\"}", "registries of the policy" },
        { "{\"registries\": [1]}", "registries of the policy" },
        { "{\"tenants\": []}", "tenants" },
        { "{\"tenants\": {\"a\": {\"signatures\": []}}}", "tenant a" },
        { "{\"signatures\": {}}", "signatures must be an array" },
        { "{\"signatures\": [{\"images\": [\"*\"]}]}", "it needs images" },
        { "{\"signatures\": [{\"keys\": [" KEY "]}]}", "it needs images" },
        { "{\"signatures\": [{\"images\": [\"*\"], \"keys\": [" KEY "], \"unsigned\": true}]}", "it needs images" },
        { "{\"signatures\": [{\"images\": [\"*\"], \"keys\": []}]}", "at least one" },
        { "{\"signatures\": [{\"images\": [1], \"keys\": [" KEY "]}]}", "images[0]" },
        { "{\"signatures\": [{\"images\": [\"*\"], \"keys\": [\"x\"]}]}", "keys[0]" },
        { "{\"signatures\": [{\"images\": [\"*\"], \"key\": [" KEY "]}]}", "unknown member \"key\"" },
        { "{\"signatures\": [{\"images\": [\"*\"], \"keyless\": {}}]}", "keyless" },
        { "{\"signatures\": [{\"images\": [\"*\"], \"keyless\": [{\"roots\": \"x\"}]}]}", "keyless.roots" },
        { "{\"signatures\": [{\"images\": [\"*\"], \"keyless\": [{\"subject\": \"x\"}]}]}",
          "unknown member \"subject\"" },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct image_policy *p = NULL;
        struct err err = ERR_INIT;
        CHECK(image_policy_new(cases[i].text, &p, &err) < 0);
        if (!strstr(err.msg, cases[i].names))
            printf("# %s: %s\n", cases[i].text, err.msg);
        CHECK_INT(err.code, ERR_INVALID);
        CHECK(strstr(err.msg, cases[i].names) != NULL);
        (void)image_policy_free(p);
    }
}

TEST(a_star_stands_for_any_bytes_and_nothing_else_does)
{
    CHECK(name_pattern_glob("https://ci.example/*", "https://ci.example/"));
    CHECK(name_pattern_glob("*@acme.example", "a@b@acme.example"));
    CHECK(name_pattern_glob("a*b*c", "aXbYbZc"));
    CHECK(!name_pattern_glob("a*b*c", "aXbYbZcd"));
    CHECK(!name_pattern_glob("", "a"));
    CHECK(name_pattern_glob("", ""));
    CHECK(!name_pattern_glob("a.c", "abc"));
    CHECK(!name_pattern_glob("*@acme.example", "x@acme.example.evil"));
}

int main(void)
{
    RUN(no_spelling_evades_a_rule);
    RUN(the_first_rule_that_matches_applies);
    RUN(a_stored_image_needs_its_evidence);
    RUN(registries_are_listed_by_name_domain_or_all);
    RUN(what_cannot_be_read_is_an_error);
    RUN(a_star_stands_for_any_bytes_and_nothing_else_does);
    return tap_done();
}
