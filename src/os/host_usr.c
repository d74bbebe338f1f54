#include "os/host_usr.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"

#define LOCAL_DEPTH 3  /* /usr/local/lib/python3.11/dist-packages */
#define DEPTH_MAX   64 /* of /usr; far deeper than any */
#define ALL_READ    S_IROTH
#define ALL_ENTER   (S_IROTH | S_IXOTH)

/* What dpkg, rpm, apk and pacman write whenever they change /usr. Most hosts have one of them. */
static const char *const databases[] = { "/var/lib/dpkg/status", "/var/lib/rpm/rpmdb.sqlite",
                                         "/usr/lib/sysimage/rpm/rpmdb.sqlite", "/lib/apk/db/installed",
                                         "/var/lib/pacman/local" };

static bool is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name); /* the same order in every locale: the digest depends on it */
}

static int is_folder(const struct dirent *e)
{
    return !is_dots(e->d_name) && (e->d_type == DT_DIR || e->d_type == DT_UNKNOWN);
}

static void add_stat(struct digest *d, const char *path, const struct stat *st)
{
    char text[80];
    (void)snprintf(text, sizeof(text), "%lld.%09ld.%lld", (long long)st->st_mtim.tv_sec, st->st_mtim.tv_nsec,
                   (long long)st->st_size);
    digest_text(d, path);
    digest_text(d, text);
}

/* A folder that not everybody can read is not in the copy, and may change all the time: it may be our data folder. */
static void add_folders(struct digest *d, const char *path, int depth)
{
    struct stat st;
    struct dirent **list = NULL;
    if (lstat(path, &st) < 0 || !S_ISDIR(st.st_mode) || (st.st_mode & ALL_ENTER) != ALL_ENTER)
        return;
    add_stat(d, path, &st);
    int n = depth > 0 ? scandir(path, &list, is_folder, by_bytes) : 0;
    for (int i = 0; i < n; i++) {
        CLEANUP(free_p) char *sub = xasprintf("%s/%s", path, list[i]->d_name);
        add_folders(d, sub, depth - 1);
        free(list[i]);
    }
    free(list);
}

void host_usr_key(const char *usr, char ret[DIGEST_HEX])
{
    struct digest d;
    CLEANUP(free_p) char *local = xasprintf("%s/local", usr);
    CLEANUP(free_p) char *modules = xasprintf("%s/lib/{python3*/{dist,site}-packages,node_modules}", usr);
    glob_t found = { 0 };
    digest_init(&d);
    for (size_t i = 0; i < sizeof(databases) / sizeof(*databases); i++) {
        struct stat st;
        if (lstat(databases[i], &st) == 0)
            add_stat(&d, databases[i], &st);
    }
    add_folders(&d, usr, 1);
    add_folders(&d, local, LOCAL_DEPTH);
    if (glob(modules, GLOB_BRACE, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc; i++)
            add_folders(&d, found.gl_pathv[i], 0);
    globfree(&found);
    digest_end(&d, ret);
}

struct scan {
    char ***private;
    size_t n;
    uint64_t bytes;
};

/* at: open folder, closed here. */
static int scan_folder(struct scan *s, int at, const char *path, int depth, struct err *err)
{
    DIR *dir = fdopendir(at);
    int r = 0;
    if (!dir) {
        (void)close(at);
        return err_sys(err, -errno, "read folder %s", path);
    }
    for (struct dirent *e; r == 0 && (e = readdir(dir));) {
        struct stat st;
        if (is_dots(e->d_name) || fstatat(at, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || S_ISLNK(st.st_mode))
            continue;
        CLEANUP(free_p) char *sub = xasprintf("%s/%s", path, e->d_name);
        mode_t needed = S_ISDIR(st.st_mode) ? ALL_ENTER : ALL_READ;
        bool is_private = (st.st_mode & needed) != needed || S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode);
        if (is_private) {
            strlist_add(s->private, sub);
            if (++s->n > HOST_USR_PRIVATE_MAX)
                r = err_set(err, ERR_TOO_LARGE, 0, "%s: more than %d files in it are not readable by everyone", path,
                            HOST_USR_PRIVATE_MAX);
        } else if (S_ISDIR(st.st_mode)) {
            int fd = depth > 0 ? openat(at, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
            r = depth <= 0 ? err_set(err, ERR_TOO_LARGE, 0, "%s: more than %d folders deep", sub, DEPTH_MAX)
                : fd < 0   ? err_sys(err, -errno, "open folder %s", sub)
                           : scan_folder(s, fd, sub, depth - 1, err);
        } else {
            s->bytes += (uint64_t)st.st_size;
        }
    }
    (void)closedir(dir);
    return r;
}

int host_usr_scan(const char *usr, char ***ret_private, uint64_t *ret_bytes, struct err *err)
{
    struct scan s = { .private = ret_private };
    int fd = open(usr, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const char *last = strrchr(usr, '/');
    int r = fd < 0 ? err_sys(err, -errno, "open %s", usr) : scan_folder(&s, fd, last ? last + 1 : usr, DEPTH_MAX, err);
    *ret_bytes = s.bytes;
    return r;
}
