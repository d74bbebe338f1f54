/* What git prints becomes objects; words that git would take for options do not pass. */
#include <errno.h>

#include "sandbox/exec/git.h"
#include "tap.h"

#define LITERAL(text) (text), sizeof(text) - 1

static void expect_status(const char *out, size_t len, const char *wanted)
{
    JSON_OWNED got = git_status_json(out, len);
    CLEANUP(free_p) char *text = json_write(got, NULL);
    CHECK_STR(text, wanted);
}

TEST(status_gives_branch_and_files)
{
    expect_status(LITERAL(""), "{\"branch\":\"HEAD\",\"clean\":true,\"files\":[]}");
    expect_status(LITERAL("## main\0"), "{\"branch\":\"main\",\"clean\":true,\"files\":[]}");
    expect_status(LITERAL("## a/b...origin/a/b [ahead 1, behind 2]\0 M x y\0?? n\0"),
                  "{\"branch\":\"a/b\",\"clean\":false,\"files\":[{\"status\":\"M\",\"path\":\"x y\"},"
                  "{\"status\":\"??\",\"path\":\"n\"}]}");
    expect_status(LITERAL("## No commits yet on trunk\0A  f\0"),
                  "{\"branch\":\"trunk\",\"clean\":false,\"files\":[{\"status\":\"A\",\"path\":\"f\"}]}");
    expect_status(LITERAL("## HEAD (no branch)\0"), "{\"branch\":\"HEAD\",\"clean\":true,\"files\":[]}");
}

TEST(a_rename_is_one_file_and_odd_bytes_are_repaired)
{
    expect_status(LITERAL("## m\0RM new\0old\0UU both\0"),
                  "{\"branch\":\"m\",\"clean\":false,\"files\":[{\"status\":\"RM\",\"path\":\"new\"},"
                  "{\"status\":\"UU\",\"path\":\"both\"}]}");
    expect_status(LITERAL("## m\0?? \xff\0"),
                  "{\"branch\":\"m\",\"clean\":false,\"files\":[{\"status\":\"??\",\"path\":\"\xef\xbf\xbd\"}]}");
    expect_status(LITERAL("## m\0R  new"),
                  "{\"branch\":\"m\",\"clean\":false,\"files\":[{\"status\":\"R\",\"path\":\"new\"}]}");
    expect_status(LITERAL("x\0"), "{\"branch\":\"HEAD\",\"clean\":true,\"files\":[]}");
}

TEST(log_gives_whole_entries_only)
{
    JSON_OWNED two = git_log_json(LITERAL("h1\0s1\0a1\0d1\0h2\0\0a2\0d2\0"));
    CLEANUP(free_p) char *text = json_write(two, NULL);
    CHECK_STR(text, "{\"entries\":[{\"hash\":\"h1\",\"message\":\"s1\",\"author\":\"a1\",\"date\":\"d1\"},"
                    "{\"hash\":\"h2\",\"message\":\"\",\"author\":\"a2\",\"date\":\"d2\"}]}");
    JSON_OWNED cut = git_log_json(LITERAL("h1\0s1\0a1"));
    CHECK_INT(json_array_size(json_get(cut, "entries")), 0);
}

TEST(refs_lose_their_prefix_and_pointers_are_left_out)
{
    JSON_OWNED refs = git_refs_json(LITERAL("refs/heads/main\t\nrefs/heads/f/x\t\nrefs/remotes/origin/HEAD\trefs/"
                                            "remotes/origin/main\n\nrefs/remotes/origin/main\t\n"));
    CLEANUP(free_p) char *text = json_write(refs, NULL);
    CHECK_STR(text, "[\"main\",\"f/x\",\"remotes/origin/main\"]");
}

TEST(options_and_shell_marks_do_not_pass)
{
    struct err err = ERR_INIT;
    CHECK_INT(git_check_word("ref", NULL, &err), 0);
    CHECK_INT(git_check_word("ref", "main", &err), 0);
    CHECK_INT(git_check_word("ref", "-f", &err), -EINVAL);
    CHECK(strstr(err.msg, "ref") != NULL);
    CHECK_INT(git_check_url("https://host/x.git", &err), 0);
    CHECK_INT(git_check_url("a`b", &err), -EINVAL);
    CHECK_INT(git_check_url("a$(b)", &err), -EINVAL);
    CHECK_INT(git_check_url("--upload-pack=x", &err), -EINVAL);
}

int main(void)
{
    RUN(status_gives_branch_and_files);
    RUN(a_rename_is_one_file_and_odd_bytes_are_repaired);
    RUN(log_gives_whole_entries_only);
    RUN(refs_lose_their_prefix_and_pointers_are_left_out);
    RUN(options_and_shell_marks_do_not_pass);
    return tap_done();
}
