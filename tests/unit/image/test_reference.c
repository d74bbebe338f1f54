#include <errno.h>

#include "image/reference.h"
#include "tap.h"

#define HEX "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

TEST(reads_every_part_and_fills_in_the_usual)
{
    static const struct {
        const char *text, *host, *repository, *tag, *digest;
    } cases[] = {
        { "python", "docker.io", "library/python", "latest", "" },
        { "python:3.12-slim", "docker.io", "library/python", "3.12-slim", "" },
        { "team/tool", "docker.io", "team/tool", "latest", "" },
        { "docker.io/python", "docker.io", "library/python", "latest", "" },
        { "registry.example/a/b_c/d__e/f--g.h:V1", "registry.example", "a/b_c/d__e/f--g.h", "V1", "" },
        { "localhost/x", "localhost", "x", "latest", "" },
        { "localhost:5000/x:t", "localhost:5000", "x", "t", "" },
        { "10.0.0.1:65535/x", "10.0.0.1:65535", "x", "latest", "" },
        { "x@sha256:" HEX, "docker.io", "library/x", "", HEX },
        { "r.example:1/x:t@sha256:" HEX, "r.example:1", "x", "t", HEX },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct reference r = { 0 };
        CHECK_INT(reference_parse(cases[i].text, &r, NULL), 0);
        CHECK_STR(r.host, cases[i].host);
        CHECK_STR(r.repository, cases[i].repository);
        CHECK_STR(r.tag, cases[i].tag);
        CHECK_STR(r.digest, cases[i].digest);
    }
}

TEST(every_spelling_has_one_canonical_name)
{
    static const struct {
        const char *text, *canonical;
    } cases[] = {
        { "python", "docker.io/library/python:latest" },
        { "python:latest", "docker.io/library/python:latest" },
        { "library/python", "docker.io/library/python:latest" },
        { "docker.io/python", "docker.io/library/python:latest" },
        { "oci:docker.io/library/python:latest", "docker.io/library/python:latest" },
        { "oci:latest", "docker.io/library/oci:latest" },
        { "iiidev/python", "docker.io/iiidev/python:latest" },
        { "r.example:1/x:t@sha256:" HEX, "r.example:1/x@sha256:" HEX },
        { "x@sha256:" HEX, "docker.io/library/x@sha256:" HEX },
        { "Any Name", "Any Name" },
        { "build-cache/" HEX, "docker.io/build-cache/" HEX ":latest" },
        { "", "" },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char canonical[REFERENCE_MAX];
        reference_canonical(cases[i].text, canonical);
        CHECK_STR(canonical, cases[i].canonical);
    }
}

TEST(refuses_what_a_registry_would)
{
    static const char *const bad[] = {
        "",
        "Python",
        "a//b",
        "/a",
        "a/",
        "a:",
        "a:.x",
        "a:-x",
        "a:b:c",
        "a@",
        "a@sha256:12",
        "a@md5:" HEX,
        "-a",
        "a-",
        "a..b",
        "a___b",
        "a._b",
        "r.example:0/x",
        "r.example:65536/x",
        "r.example:/x",
        "r.example:1a/x",
        "-r.example/x",
        "r..example/x",
        ".r/x",
        "a b",
        "a\n",
        "\xc3\xa9",
        "a@sha256:" HEX "0",
        "a?b",
        "a/../b",
        "r.example/",
        ":tag",
        "@sha256:" HEX,
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct reference r = { .tag = "untouched" };
        struct err err = ERR_INIT;
        int result = reference_parse(bad[i], &r, &err);
        if (result != -EINVAL)
            printf("# accepted: %s\n", bad[i]);
        CHECK_INT(result, -EINVAL);
        CHECK_STR(r.tag, "untouched");
    }
}

TEST(keeps_to_its_lengths)
{
    char name[IMAGE_NAME_MAX + 2], tagged[200];
    struct reference r;
    memset(name, 'a', sizeof(name));
    name[IMAGE_NAME_MAX + 1] = '\0';
    CHECK_INT(reference_parse(name, &r, NULL), -EINVAL);
    name[IMAGE_NAME_MAX] = '\0';
    CHECK_INT(reference_parse(name, &r, NULL), 0);
    CHECK_INT(strlen(r.repository), IMAGE_NAME_MAX + 8);
    memset(tagged, 't', sizeof(tagged));
    memcpy(tagged, "x:", 2);
    tagged[2 + 129] = '\0';
    CHECK_INT(reference_parse(tagged, &r, NULL), -EINVAL);
    tagged[2 + 128] = '\0';
    CHECK_INT(reference_parse(tagged, &r, NULL), 0);
}

int main(void)
{
    RUN(reads_every_part_and_fills_in_the_usual);
    RUN(every_spelling_has_one_canonical_name);
    RUN(refuses_what_a_registry_would);
    RUN(keeps_to_its_lengths);
    return tap_done();
}
