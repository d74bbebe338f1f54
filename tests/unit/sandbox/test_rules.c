/* The allow-list, the path rule, the environment and the record of a sandbox. */
#include <errno.h>

#include "base/alloc.h"
#include "base/strlist.h"
#include "sandbox/exec/command.h"
#include "sandbox/lifecycle/manager.h"
#include "sandbox/storage/image_allowlist.h"
#include "sandbox/storage/work_path.h"
#include "tap.h"

static struct manager *fake_manager(void)
{
    static struct settings settings;
    static struct manager m;
    settings_done(&settings);
    settings_init(&settings);
    m.settings = &settings;
    m.worker_id = (char *)(uintptr_t) "w";
    return &m;
}

static struct sandbox *fake_sandbox(void)
{
    struct sandbox *s = sandbox_new(fake_manager(), "sbx_000000000000000000000001");
    s->name = xstrdup("n");
    s->image = xstrdup("python");
    return s;
}

TEST(the_allow_list_takes_exact_names_and_prefixes)
{
    struct err err = ERR_INIT;
    CHECK_INT(image_allowlist_check("*", "anything", &err), 0);
    CHECK_INT(image_allowlist_check("alpine, python:* ,node", "python:3.12", &err), 0);
    CHECK_INT(image_allowlist_check("alpine,python:*,node", "node", &err), 0);
    CHECK_INT(image_allowlist_check("alpine,python:*", "python", &err), -EPERM);
    CHECK(strstr(err.msg, "not allowed") != NULL);
    CHECK_INT(image_allowlist_check("", "python", &err), -EPERM);
    CHECK_INT(image_allowlist_check(" , ,", "", &err), -EPERM);
}

TEST(the_allow_list_compares_canonical_names)
{
    static const struct {
        const char *list, *image;
        bool is_allowed;
    } cases[] = {
        { "alpine", "docker.io/library/alpine:latest", true },
        { "docker.io/library/alpine", "alpine", true },
        { "alpine", "oci:docker.io/alpine", true },
        { "alpine", "alpine:3", false },
        { "alpine:*", "alpine", true }, /* its tag is latest */
        { "alpine:*", "docker.io/library/alpine:3.20", true },
        { "alpine:*", "alpine:3@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", true },
        { "alpine:*", "alpine-evil:3", false },
        { "python*", "python.evil.example/x:1", false },
        { "iiidev/*", "docker.io/iiidev/tool:2", true },
        { "docker.io/*", "alpine", true },
        { "docker.io/*", "iiidev/tool", true },
        { "docker.io/*", "ghcr.io/x/y", false },
        { "ghcr.io/team/*", "ghcr.io/team/a:1", true },
        { "ghcr.io/team/*", "ghcr.io/teams/a:1", false },
        { "localhost:5000/*", "localhost:5000/a", true },
        { "python", "iiidev/python", true }, /* the preset's image */
        { "iiidev/python", "python", true },
        { "python", "docker.io/library/python", false },
        { "py*", "python", true },
        { "shell", "shell", true },
        { "shell", "shell:latest", false },
        { "My Image*", "My Image 2", true },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        bool is_allowed = image_allowlist_check(cases[i].list, cases[i].image, NULL) == 0;
        if (is_allowed != cases[i].is_allowed)
            (void)printf("# \"%s\" with \"%s\"\n", cases[i].list, cases[i].image);
        CHECK(is_allowed == cases[i].is_allowed);
    }
}

static void expect_path(const struct sandbox *s, const char *given, const char *wanted)
{
    CLEANUP(free_p) char *path = NULL;
    struct err err = ERR_INIT;
    int r = work_path_resolve(s, given, &path, &err);
    if (wanted) {
        CHECK_INT(r, 0);
        CHECK_STR(path, wanted);
    } else {
        CHECK_INT(r, -EINVAL);
        CHECK(path == NULL);
    }
}

TEST(paths_stay_below_the_workspace_or_the_workdir)
{
    CLEANUP(sandbox_unref_p) struct sandbox *s = fake_sandbox();
    expect_path(s, "a/b", "/workspace/a/b");
    expect_path(s, "/workspace", "/workspace");
    expect_path(s, "/workspace//a///b/", "/workspace/a/b");
    expect_path(s, "/workspacex", NULL);
    expect_path(s, "/etc/passwd", NULL);
    expect_path(s, "../../x", NULL);
    expect_path(s, "a..b", NULL);
    expect_path(s, "", NULL);
    sandbox_config_set_text(&s->config, SANDBOX_CONFIG_WORKDIR, "/app");
    expect_path(s, "/app/x", "/app/x");
    char longest[5000];
    memset(longest, 'a', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    expect_path(s, longest, NULL);
}

TEST(the_environment_is_defaults_image_config_overlay_in_this_order)
{
    CLEANUP(sandbox_unref_p) struct sandbox *s = fake_sandbox();
    strlist_add(&s->image_env, "A=image");
    strlist_add(&s->image_env, "B=image");
    strlist_add(&s->image_env, "C=image");
    sandbox_config_set_map(&s->config, SANDBOX_CONFIG_ENV, json_pack("{s:s, s:s}", "B", "config", "C", "config"));
    (void)json_object_set_new(s->env, "C", json_string("overlay"));
    (void)json_object_set_new(s->env, "A", json_null());
    int seen = 0;
    for (const char *const *p = sandbox_env(s); *p; p++) {
        CHECK(strncmp(*p, "A=", 2) != 0);
        seen += strcmp(*p, "B=config") == 0 || strcmp(*p, "C=overlay") == 0 || strcmp(*p, "HOME=/root") == 0;
    }
    CHECK_INT(seen, 3);
}

TEST(a_command_is_a_string_or_a_list)
{
    struct err err = ERR_INIT;
    JSON_OWNED text = json_string("echo hi");
    JSON_OWNED empty = json_string("");
    JSON_OWNED list = json_pack("[s,s]", "ls", "-l");
    JSON_OWNED none = json_array();
    char **argv = command_argv(text, &err);
    CHECK_STR(argv[0], "sh");
    CHECK_STR(argv[2], "echo hi");
    strlist_free(argv);
    argv = command_argv(list, &err);
    CHECK_STR(argv[1], "-l");
    strlist_free(argv);
    CHECK(command_argv(empty, &err) == NULL && command_argv(none, &err) == NULL && command_argv(NULL, &err) == NULL);
    CHECK(strstr(err.msg, "command") != NULL);
}

int main(void)
{
    RUN(the_allow_list_takes_exact_names_and_prefixes);
    RUN(the_allow_list_compares_canonical_names);
    RUN(paths_stay_below_the_workspace_or_the_workdir);
    RUN(the_environment_is_defaults_image_config_overlay_in_this_order);
    RUN(a_command_is_a_string_or_a_list);
    settings_done((struct settings *)(uintptr_t)fake_manager()->settings);
    return tap_done();
}
