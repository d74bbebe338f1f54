/* The doctor probes this very host and leaves nothing behind. */
#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/json.h"
#include "runtime/native/native.h"
#include "tap.h"

static char data_dir[] = "/tmp/iii-test-doctor-XXXXXX";

static const json_t *row_of(const json_t *list, const char *name)
{
    size_t i;
    json_t *row;
    json_array_foreach(list, i, row) if (strcmp(json_get_str(row, "name", ""), name) == 0) return row;
    return NULL;
}

static size_t count_entries(const char *path)
{
    DIR *dir = opendir(path);
    size_t n = 0;
    while (dir && readdir(dir))
        n++;
    if (dir)
        (void)closedir(dir);
    return n - 2;
}

/* Of this process: others may run a doctor at the same time. */
static size_t count_groups(void)
{
    static const char *const folders[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/*" };
    size_t n = 0;
    for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
        char pattern[64];
        glob_t found = { 0 };
        (void)snprintf(pattern, sizeof(pattern), "%s/iii-doctor-%d", folders[i], (int)getpid());
        if (glob(pattern, 0, NULL, &found) == 0)
            n += found.gl_pathc;
        globfree(&found);
    }
    return n;
}

static int check_rows(const json_t *list)
{
    static const char *const expected[] = {
        "kernel",
        "root",
        "user namespaces",
        "namespaces of a box",
        "proc in a user namespace",
        "overlayfs",
        "seccomp",
        "landlock",
        "idmapped mounts",
        "overlayfs in a user namespace",
        "uid range",
        "tun",
        "veth",
        "newuidmap",
        "cgroup memory (memory limit)",
        "disk space",
        "network namespace",
        "data folder",
        "cgroup freezer (pause)",
        "open files",
    };
    int bad = 0;
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        if (!row_of(list, expected[i])) {
            printf("# no row %s\n", expected[i]);
            bad++;
        }
    size_t i;
    json_t *row;
    json_array_foreach(list, i, row)
    {
        bool is_ok = json_get_bool(row, "ok", false);
        const char *detail = json_get_str(row, "detail", ""), *fix = json_get_str(row, "fix", "");
        printf("# %s %s: %s\n", is_ok ? "yes" : "no ", json_get_str(row, "name", "?"), detail);
        bad += detail[0] == '\0' || is_ok == (fix[0] != '\0') || !json_is_boolean(json_get(row, "required"));
    }
    fflush(stdout);
    return bad;
}

TEST(every_row_says_what_it_found_and_the_way_out)
{
    JSON_OWNED list = native_doctor(data_dir, 1, 16);
    CHECK(json_is_array(list));
    CHECK_INT(check_rows(list), 0);
    CHECK_INT(json_get_bool(row_of(list, "root"), "ok", false), geteuid() == 0);
    CHECK(json_get_bool(row_of(list, "kernel"), "ok", false));
    CHECK(json_get_bool(row_of(list, "seccomp"), "ok", false));
}

TEST(maxima_of_the_kernel_that_are_too_low_are_named)
{
    JSON_OWNED few = native_doctor(data_dir, 1, 16);
    JSON_OWNED many = native_doctor(data_dir, 100000, 65536); /* more processes than any kernel has numbers for */
    CHECK(json_get_bool(row_of(few, "kernel maxima"), "ok", false) || geteuid() != 0);
    const char *low = json_get_str(row_of(many, "kernel maxima"), "detail", "");
    CHECK(!json_get_bool(row_of(many, "kernel maxima"), "ok", true));
    CHECK(strstr(low, "kernel.pid_max is ") && strstr(low, "needs 6553604096"));
    CHECK(!json_get_bool(row_of(many, "kernel maxima"), "required", true));
}

TEST(nothing_is_left_behind)
{
    CHECK_INT(count_entries(data_dir), 0);
    CHECK_INT(count_groups(), 0);
    CHECK(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
}

TEST(a_missing_data_folder_is_named)
{
    JSON_OWNED list = native_doctor("/nonexistent/iii", 50, 256);
    const json_t *row = row_of(list, "data folder");
    CHECK(!json_get_bool(row, "ok", true));
    CHECK(strstr(json_get_str(row, "detail", ""), "/nonexistent/iii") != NULL);
    CHECK(json_get_bool(row, "required", false));
    CHECK(!json_get_bool(row_of(list, "disk space"), "ok", true));
}

/* The same as an ordinary user: other rows are required, and none may crash. */
TEST(an_ordinary_user_gets_all_rows_too)
{
    fflush(stdout);
    char own[] = "/tmp/iii-test-doctor-XXXXXX";
    CHECK(mkdtemp(own) && chown(own, 65534, 65534) == 0);
    pid_t pid = fork();
    if (pid == 0) {
        if (setgid(65534) < 0 || setuid(65534) < 0)
            _exit(99);
        (void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0); /* else /proc/self stays root's after giving up root */
        json_t *list = native_doctor(own, 50, 256);
        int bad = check_rows(list);
        bad += !json_get_bool(row_of(list, "overlayfs in a user namespace"), "required", false);
        bad += json_get_bool(row_of(list, "idmapped mounts"), "required", true);
        bad += json_get_bool(row_of(list, "idmapped mounts"), "ok", true);
        bad += !json_get_bool(row_of(list, "user namespaces"), "ok", false);
        json_decref(list);
        _exit(bad);
    }
    int status = -1;
    (void)waitpid(pid, &status, 0);
    CHECK_INT(status, 0);
    CHECK_INT(rmdir(own), 0);
}

int main(void)
{
    if (!mkdtemp(data_dir)) {
        printf("Bail out! no /tmp\n");
        return 1;
    }
    RUN(every_row_says_what_it_found_and_the_way_out);
    RUN(maxima_of_the_kernel_that_are_too_low_are_named);
    RUN(nothing_is_left_behind);
    RUN(a_missing_data_folder_is_named);
    if (geteuid() == 0)
        RUN(an_ordinary_user_gets_all_rows_too);
    else
        SKIP(an_ordinary_user_gets_all_rows_too, "needs root to become someone else");
    (void)rmdir(data_dir);
    return tap_done();
}
