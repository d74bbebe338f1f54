#include "main/data_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"

static char *default_dir(void)
{
    const char *home = getenv("HOME");
    if (geteuid() == 0)
        return xstrdup("/var/lib/iii-sandbox");
    return xasprintf("%s/.local/share/iii-sandbox", home && *home == '/' ? home : "/tmp");
}

int data_dir_make(const char *given, char **ret, struct err *err)
{
    CLEANUP(free_p) char *dir = *given ? xstrdup(given) : default_dir();
    for (char *p = dir + 1; *p; p++) {
        if (*p != '/')
            continue;
        *p = '\0';
        int r = mkdir(dir, 0755);
        *p = '/';
        if (r < 0 && errno != EEXIST)
            return err_set(err, ERR_INTERNAL, errno, "data folder %s: create its parents", dir);
    }
    if (mkdir(dir, 0700) < 0 && errno != EEXIST)
        return err_set(err, ERR_INTERNAL, errno, "data folder %s", dir);
    char *real = realpath(dir, NULL);
    if (!real)
        return err_set(err, ERR_INTERNAL, errno, "data folder %s", dir);
    *ret = real;
    return 0;
}

int data_dir_lock(const char *dir, int *ret_fd, struct err *err)
{
    CLEANUP(free_p) char *path = xasprintf("%s/lock", dir);
    /* No O_CREAT for an existing file: in a folder of several owners the kernel denies it (fs.protected_regular). */
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 && errno == ENOENT)
        fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return err_set(err, ERR_INTERNAL, errno, "lock %s", path);
    if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        int e = errno;
        (void)close(fd);
        if (e == EWOULDBLOCK)
            return err_set(err, ERR_CONFLICT, 0, "another server uses %s: stop it, or give this one its own --data-dir",
                           dir);
        return err_set(err, ERR_INTERNAL, e, "lock %s", path);
    }
    *ret_fd = fd;
    return 0;
}

char *data_dir_nearest(const char *given)
{
    char *dir = *given ? xstrdup(given) : default_dir();
    while (access(dir, F_OK) < 0) {
        char *slash = strrchr(dir, '/');
        if (!slash || slash == dir)
            break;
        *slash = '\0';
    }
    return dir;
}
