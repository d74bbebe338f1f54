/* The host's /usr: when a copy of it is stale, and what of it is private. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "os/host_usr.h"
#include "os/tree.h"
#include "tap.h"

static char folder[] = "/tmp/vmusr-XXXXXX";
static char usr[64];
static int at = NO_FD;

static void put(const char *path)
{
    int fd = openat(at, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    CHECK(fd >= 0 && write(fd, "x", 1) == 1);
    (void)close(fd);
}

/* Whether the key has changed since the last call. */
static bool is_changed(void)
{
    static char last[DIGEST_HEX];
    char now[DIGEST_HEX];
    host_usr_key(usr, now);
    bool is_other = strcmp(last, now) != 0;
    memcpy(last, now, sizeof(last));
    CHECK(digest_is_hex(now));
    return is_other;
}

static void nap(void)
{
    const struct timespec t = { .tv_nsec = 20000000 }; /* the clock of a file system goes in ticks */
    (void)nanosleep(&t, NULL);
}

TEST(the_key_changes_with_what_is_installed)
{
    static const char *const folders[] = { "usr",
                                           "usr/bin",
                                           "usr/lib",
                                           "usr/lib/node_modules",
                                           "usr/local",
                                           "usr/local/lib",
                                           "usr/local/lib/python3.11",
                                           "usr/local/lib/python3.11/dist-packages",
                                           "usr/local/lib/node_modules",
                                           "usr/local/var" };
    for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++)
        CHECK(mkdirat(at, folders[i], 0755) == 0);
    put("usr/bin/a");
    CHECK(is_changed());
    CHECK(!is_changed());
    static const char *const new[] = { "usr/bin/b", "usr/lib/node_modules/b",
                                       "usr/local/lib/python3.11/dist-packages/b.py", "usr/local/lib/node_modules/b" };
    for (size_t i = 0; i < sizeof(new) / sizeof(*new); i++) {
        nap();
        put(new[i]);
        CHECK(is_changed());
        nap();
        CHECK(unlinkat(at, new[i], 0) == 0);
        CHECK(is_changed());
    }
    nap();
    put("usr/local/c");
    CHECK(renameat(at, "usr/local/c", at, "usr/bin/a") == 0); /* as a package manager replaces a file */
    CHECK(is_changed());
    CHECK(!is_changed());
}

/* It may be the data folder of a server, which changes all the time and is not copied. */
TEST(a_private_folder_does_not_change_the_key)
{
    CHECK(mkdirat(at, "usr/local/var/data", 0700) == 0);
    (void)is_changed();
    nap();
    put("usr/local/var/data/f");
    CHECK(!is_changed());
}

static bool has(char *const *list, const char *path)
{
    while (list && *list && strcmp(*list, path) != 0)
        list++;
    return list && *list;
}

TEST(what_not_everyone_can_read_is_private)
{
    struct err err = ERR_INIT;
    CLEANUP(strlist_free_p) char **list = NULL;
    uint64_t bytes = 0;
    put("usr/bin/secret");
    put("usr/bin/run_only");
    CHECK(fchmodat(at, "usr/bin/secret", 0640, 0) == 0 && fchmodat(at, "usr/bin/run_only", 04711, 0) == 0);
    CHECK(symlinkat("/etc/shadow", at, "usr/bin/link") == 0); /* leads to the guest's own file */
    CHECK(mkdirat(at, "usr/bin/unlisted", 0711) == 0);
    CHECK(mkfifoat(at, "usr/bin/fifo", 0644) == 0);
    CHECK_INT(host_usr_scan(usr, &list, &bytes, &err), 0);
    CHECK(has(list, "usr/bin/secret") && has(list, "usr/bin/run_only") && has(list, "usr/bin/unlisted"));
    CHECK(has(list, "usr/local/var/data") && !has(list, "usr/local/var/data/f")); /* the folder stands for it */
    CHECK(!has(list, "usr/bin/a") && !has(list, "usr/bin/link") && !has(list, "usr/bin"));
    CHECK_INT(strlist_count(list), 4);
    CHECK_INT(bytes, 1); /* of usr/bin/a */
    CHECK(host_usr_scan("/none", &list, &bytes, &err) < 0);
}

TEST(too_many_private_files_are_an_error)
{
    struct err err = ERR_INIT;
    CLEANUP(strlist_free_p) char **list = NULL;
    uint64_t bytes = 0;
    char name[32];
    CHECK(mkdirat(at, "many", 0755) == 0);
    for (int i = 0; i <= HOST_USR_PRIVATE_MAX; i++) {
        (void)snprintf(name, sizeof(name), "many/%d", i);
        CHECK(mknodat(at, name, S_IFREG | 0600, 0) == 0);
    }
    (void)snprintf(usr, sizeof(usr), "%s/many", folder);
    CHECK(host_usr_scan(usr, &list, &bytes, &err) < 0);
    CHECK(strstr(err.msg, "more than 4096 files"));
    CHECK(unlinkat(at, name, 0) == 0);
    list = strlist_free(list);
    CHECK_INT(host_usr_scan(usr, &list, &bytes, &err), 0);
}

int main(void)
{
    struct err err = ERR_INIT;
    if (!mkdtemp(folder) || (at = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
        return 1;
    (void)snprintf(usr, sizeof(usr), "%s/usr", folder);
    RUN(the_key_changes_with_what_is_installed);
    RUN(a_private_folder_does_not_change_the_key);
    RUN(what_not_everyone_can_read_is_private);
    RUN(too_many_private_files_are_an_error);
    close_fd_p(&at);
    (void)tree_remove(AT_FDCWD, folder, &err);
    return tap_done();
}
