#include "runtime/native/disk_usage.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"

#define DEPTH_MAX  2304 /* one descriptor each; no path can name more than 2048 */
#define LONGEST_US 3000000
#define SEEN_MAX   4096

struct seen {
    dev_t dev;
    ino_t ino;
};

struct count {
    int64_t bytes, deadline_us;
    bool is_endless;
    size_t n_seen;
    struct seen seen[SEEN_MAX]; /* deleted files: several processes may hold the same one */
};

static bool is_late(const struct count *c)
{
    return c->is_endless || clock_mono_us() > c->deadline_us;
}

static DIR *open_dir(int at, const char *name)
{
    int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d && fd >= 0)
        (void)close(fd); /* never read */
    return d;
}

/* The depth is bounded by the descriptors that are open at once: deeper folders are an attempt to hide. */
static void count_folder(struct count *c, int at, const char *name, unsigned depth) /* NOLINT(misc-no-recursion) */
{
    if (depth > DEPTH_MAX) {
        c->is_endless = true;
        return;
    }
    DIR *d = open_dir(at, name);
    if (!d && (errno == EMFILE || errno == ENFILE))
        c->is_endless = true;
    for (struct dirent *e; d && (e = readdir(d)) && !is_late(c);) {
        struct stat st;
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
            fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        bool is_folder = S_ISDIR(st.st_mode);
        c->bytes += (int64_t)st.st_blocks * 512 / (is_folder || st.st_nlink == 0 ? 1 : (int64_t)st.st_nlink);
        if (is_folder)
            count_folder(c, dirfd(d), e->d_name, depth + 1);
    }
    if (d)
        (void)closedir(d); /* read only */
}

static bool is_new(struct count *c, const struct stat *st)
{
    for (size_t i = 0; i < c->n_seen; i++)
        if (c->seen[i].dev == st->st_dev && c->seen[i].ino == st->st_ino)
            return false;
    if (c->n_seen == SEEN_MAX) {
        c->is_endless = true;
        return false;
    }
    c->seen[c->n_seen++] = (struct seen){ st->st_dev, st->st_ino };
    return true;
}

/* Counts deleted files among the links of a folder of /proc. Those in memory are counted elsewhere. */
static void count_held(struct count *c, pid_t pid, const char *what)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, what);
    DIR *d = open_dir(AT_FDCWD, path);
    for (struct dirent *e; d && (e = readdir(d)) && !is_late(c);) {
        struct stat st;
        struct statfs fs;
        if (e->d_name[0] == '.' || fstatat(dirfd(d), e->d_name, &st, 0) < 0 || !S_ISREG(st.st_mode) || st.st_nlink != 0)
            continue;
        CLEANUP(close_fd_p) int fd = openat(dirfd(d), e->d_name, O_PATH | O_CLOEXEC);
        bool is_memory = fd < 0 || fstatfs(fd, &fs) < 0 || fs.f_type == TMPFS_MAGIC || fs.f_type == HUGETLBFS_MAGIC;
        if (!is_memory && is_new(c, &st))
            c->bytes += (int64_t)st.st_blocks * 512;
    }
    if (d)
        (void)closedir(d); /* read only */
}

int64_t native_disk_usage_count(int boxes_fd, const char *name, const pid_t *pids, size_t n_pids)
{
    CLEANUP(free_p) struct count *c = xzalloc(sizeof(*c));
    c->deadline_us = clock_mono_us() + LONGEST_US;
    count_folder(c, boxes_fd, name, 0);
    for (size_t i = 0; i < n_pids && !is_late(c); i++) {
        count_held(c, pids[i], "fd");
        count_held(c, pids[i], "map_files");
    }
    return c->is_endless ? NATIVE_DISK_USAGE_ENDLESS : c->bytes;
}
