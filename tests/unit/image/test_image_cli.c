#include <stdio.h>

#include "image/image.h"
#include "tap.h"
#include "tarmake.h"

static int run(const char *const *words)
{
    char *argv[12] = { (char[]){ "image" } };
    int argc = 1;
    for (; words[argc - 1]; argc++)
        argv[argc] = xstrdup(words[argc - 1]);
    argv[argc] = NULL;
    char **moved = xzalloc(sizeof(argv)); /* getopt reorders */
    memcpy(moved, argv, sizeof(argv));
    int code = image_cli(argc, moved);
    (void)fflush(stdout);
    free(moved);
    for (int i = 1; i < argc; i++)
        free(argv[i]);
    return code;
}

TEST(each_outcome_has_its_exit_code)
{
    CLEANUP(buf_done) struct buf tar = BUF_INIT(TAR_MAX);
    tar_of(&tar, (struct tar_entry[]){ { "etc/x", '0', "x" }, { 0 } });
    CLEANUP(free_p) char *path = save_bytes("x.tar", tar.data, tar.len);
    CLEANUP(free_p) char *data_dir = xasprintf("%s/data", test_folder);
    CHECK_INT(run((const char *[]){ "import", path, "x:1", "--data-dir", data_dir, NULL }), 0);
    CHECK_INT(run((const char *[]){ "--data-dir", data_dir, "ls", NULL }), 0);
    CHECK_INT(run((const char *[]){ "inspect", "x:1", "--data-dir", data_dir, NULL }), 0);
    CHECK_INT(run((const char *[]){ "inspect", "ghost", "--data-dir", data_dir, NULL }), 3);
    CHECK_INT(run((const char *[]){ "rm", "x:1", "--data-dir", data_dir, NULL }), 0);
    CHECK_INT(run((const char *[]){ "rm", "x:1", "--data-dir", data_dir, NULL }), 3);
    CHECK_INT(run((const char *[]){ "prune", "--data-dir", data_dir, NULL }), 0);
    CHECK_INT(run((const char *[]){ "import", "/nonexistent.tar", "y", "--data-dir", data_dir, NULL }), 3);
    CHECK_INT(run((const char *[]){ "import", path, "a..b", "--data-dir", data_dir, NULL }), 1);
}

TEST(wrong_usage_is_told_apart)
{
    CLEANUP(free_p) char *data_dir = xasprintf("%s/data", test_folder);
    CHECK_INT(run((const char *[]){ "--help", NULL }), 0);
    CHECK_INT(run((const char *[]){ NULL }), 2);
    CHECK_INT(run((const char *[]){ "fly", NULL }), 2);
    CHECK_INT(run((const char *[]){ "ls", "--wings", NULL }), 2);
    CHECK_INT(run((const char *[]){ "import", "one", "--data-dir", data_dir, NULL }), 2);
}

int main(void)
{
    if (!mkdtemp(test_folder))
        return 1;
    RUN(each_outcome_has_its_exit_code);
    RUN(wrong_usage_is_told_apart);
    remove_test_folder();
    return tap_done();
}
