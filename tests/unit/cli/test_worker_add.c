/* The sandbox worker's block in configuration files of all shapes: what is there stays as it is. */
#include "cli/worker_add.h"

#include "tap.h"

static char text[8192];
static enum worker_add_done done;

static const char *edited(const char *before, bool is_reset)
{
    struct buf out = BUF_INIT(sizeof(text) - 1);
    struct err err = ERR_INIT;
    int r = worker_add_edit(before, is_reset, &out, &done, &err);
    (void)snprintf(text, sizeof(text), "%s", r < 0 ? err.msg : buf_text(&out));
    buf_done(&out);
    return text;
}

#define BLOCK(in)                                                                                            \
    in "- name: iii-sandbox\n" in "  config:\n" in "    auto_install: true\n" in "    image_allowlist:\n" in \
       "      - python\n" in "      - node\n" in "    default_idle_timeout_secs: 300\n" in                   \
       "    max_concurrent_sandboxes: 32\n" in "    default_cpus: 1\n" in "    default_memory_mb: 512\n"

TEST(new_files)
{
    CHECK_STR(edited("", false), "workers:\n" BLOCK("  "));
    CHECK_INT(done, WORKER_ADD_ADDED);
    CHECK_STR(edited("port: 1", false), "port: 1\nworkers:\n" BLOCK("  "));
    CHECK_STR(edited("workers: []\nport: 1\n", false), "workers:\n" BLOCK("  ") "port: 1\n");
}

TEST(lists_keep_their_indent_and_neighbours)
{
    CHECK_STR(edited("workers:\n- name: a\n  x: 1\n# end\nport: 1\n", false),
              "workers:\n- name: a\n  x: 1\n" BLOCK("") "# end\nport: 1\n");
    CHECK_STR(edited("modules:\n    - name: a # mine\n", false), "modules:\n    - name: a # mine\n" BLOCK("    "));
    CHECK_STR(edited("workers:\n  - name: a", false), "workers:\n  - name: a\n" BLOCK("  "));
}

TEST(an_entry_is_kept_or_reset)
{
    static const char before[] = "workers:\n  - name: \"iii-sandbox\"\n    config:\n      a: 1\n  - name: b\n";
    CHECK_STR(edited(before, false), before);
    CHECK_INT(done, WORKER_ADD_KEPT);
    CHECK_STR(edited(before, true), "workers:\n" BLOCK("  ") "  - name: b\n");
    CHECK_INT(done, WORKER_ADD_RESET);
    CHECK_STR(edited("workers:\n  - name: iii-sandbox-two\n", false),
              "workers:\n  - name: iii-sandbox-two\n" BLOCK("  "));
    CHECK_INT(done, WORKER_ADD_ADDED);
}

TEST(lists_in_one_line_are_refused)
{
    CHECK(strstr(edited("workers: [{name: a}]\n", false), "one entry per line"));
}

TEST(the_entry_of_a_text)
{
    static const char text_of_three[] =
        "workers:\n- name: a\n- name: iii-sandbox\n  config:\n    x: 1\n\n# mine\n- name: b\n";
    size_t len = 0;
    const char *at = worker_add_entry(text_of_three, &len);
    CHECK(at && strncmp(at, "- name: iii-sandbox\n  config:\n    x: 1\n", len) == 0);
    CHECK_INT(len, strlen("- name: iii-sandbox\n  config:\n    x: 1\n"));
    CHECK(!worker_add_entry("port: 1\n", &len));
    CHECK(!worker_add_entry("workers:\n  - name: a\n", &len));
}

int main(void)
{
    RUN(the_entry_of_a_text);
    RUN(new_files);
    RUN(lists_keep_their_indent_and_neighbours);
    RUN(an_entry_is_kept_or_reset);
    RUN(lists_in_one_line_are_refused);
    return tap_done();
}
