/* Who owns what below the data folder:
 *   the folder itself     root, its group the server's, sticky: the server may create files and change its own, but not
 *                         rename what root works in
 *   files in it, audit    the server's (records and their journals, tokens, the audit log)
 *   boxes, run, volumes   root's alone: the launcher trusts what it finds there
 *   images                root's, readable for the server's group: records, names of layers, the lock
 *   images/pins           the server's
 *   vm                    the server's, including what root's `iii vm setup` made in it
 * Everything is opened without following links and changed by descriptor, and a file with a second hard link is left
 * alone: the folder may have belonged to a compromised server. */
#include "main/privilege/ownership.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "vm/tool_wire.h"

#define TREE_DEPTH 4

struct owner {
    uid_t uid;
    gid_t gid;
};

/* Sets owner and mode. Does nothing when they are right already: most starts change nothing. */
static int set_owner(int fd, struct owner to, mode_t mode)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return -errno;
    if ((st.st_uid != to.uid || st.st_gid != to.gid) && fchown(fd, to.uid, to.gid) < 0)
        return -errno;
    return (st.st_mode & 07777) != mode && fchmod(fd, mode) < 0 ? -errno : 0;
}

static int open_folder(int at, const char *name, int *ret, struct err *err)
{
    if (mkdirat(at, name, 0700) < 0 && errno != EEXIST)
        return err_sys(err, -errno, "make folder %s", name);
    *ret = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return *ret < 0 ? err_sys(err, -errno, "open folder %s of the data folder", name) : 0;
}

static int give_folder(int at, const char *name, struct owner to, mode_t mode, struct err *err)
{
    CLEANUP(close_fd_p) int fd = NO_FD;
    int r = open_folder(at, name, &fd, err);
    if (r == 0 && (r = set_owner(fd, to, mode)) < 0)
        return err_sys(err, r, "hand over folder %s of the data folder", name);
    return r;
}

static int give_file(int at, const char *name, struct owner to, mode_t mode)
{
    struct stat st;
    CLEANUP(close_fd_p) int path = openat(at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (path < 0 || fstat(path, &st) < 0)
        return errno == ENOENT ? 0 : -errno;
    if (st.st_nlink != 1 || (!S_ISREG(st.st_mode) && !S_ISSOCK(st.st_mode)))
        return 0;
    if (S_ISSOCK(st.st_mode)) /* left by a server that was killed: the next one removes it */
        return fchownat(path, "", to.uid, to.gid, AT_EMPTY_PATH) < 0 ? -errno : 0;
    CLEANUP(close_fd_p) int fd = openat(at, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0)
        return -errno;
    return S_ISREG(st.st_mode) && st.st_nlink == 1 ? set_owner(fd, to, mode) : 0;
}

/* Every file directly in a folder. */
static int give_files(int at, const char *name, struct owner to, mode_t mode, struct err *err)
{
    int r = 0, fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d) {
        close_fd_p(&fd);
        return err_sys(err, -errno, "read folder %s of the data folder", name);
    }
    for (struct dirent *e; r == 0 && (e = readdir(d));)
        if (e->d_type != DT_DIR)
            if ((r = give_file(fd, e->d_name, to, mode)) < 0)
                (void)err_sys(err, r, "hand over %s/%.60s", name, e->d_name);
    (void)closedir(d); /* read only */
    return r;
}

/* A folder with everything in it, modes unchanged; the driver makes it at most TREE_DEPTH deep. */
static int give_tree(int at, const char *name, struct owner to, int depth, struct err *err)
{
    struct stat st;
    int r = 0, fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d) {
        close_fd_p(&fd);
        return err_sys(err, -errno, "read folder %s of the data folder", name);
    }
    for (struct dirent *e; r == 0 && (e = readdir(d));) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
            fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        size_t n = strlen(e->d_name), end = strlen(VM_TOOL_WIRE_BOX_SUFFIX);
        bool is_box = n > end && strcmp(e->d_name + n - end, VM_TOOL_WIRE_BOX_SUFFIX) == 0; /* a VMM may run there */
        if (!S_ISDIR(st.st_mode))
            r = give_file(fd, e->d_name, to, st.st_mode & 07777);
        else if (depth > 0 && !is_box)
            r = give_tree(fd, e->d_name, to, depth - 1, err);
    }
    if (r == 0)
        r = set_owner(fd, to, 0700);
    (void)closedir(d); /* read only */
    return r < 0 && !err->code ? err_sys(err, r, "hand over folder %s of the data folder", name) : r;
}

static int give_images(int data, uid_t uid, gid_t gid, struct err *err)
{
    CLEANUP(close_fd_p) int images = NO_FD;
    const struct owner server = { uid, gid }, shared = { 0, gid };
    mode_t folder = uid ? 0750 : 0700, file = uid ? 0660 : 0600;
    int r = open_folder(data, "images", &images, err);
    if (r == 0)
        r = give_folder(images, "images", shared, folder, err);
    if (r == 0)
        r = give_files(images, "images", shared, file, err);
    if (r == 0)
        r = give_folder(images, "layers", shared, folder, err);
    if (r == 0)
        r = give_folder(images, "pins", server, 0700, err);
    if (r == 0)
        r = give_files(images, "pins", server, 0600, err);
    if (r == 0 && (give_file(images, "host.json", shared, file) < 0 || give_file(images, "lock", shared, file) < 0 ||
                   set_owner(images, shared, folder) < 0))
        r = err_sys(err, -errno, "hand over the image store");
    return r;
}

int ownership_run(const char *data_dir, uid_t uid, gid_t gid, struct err *err)
{
    static const char *const roots[] = { "boxes", "run", "volumes" };
    const struct owner root = { 0, 0 }, server = { uid, gid };
    CLEANUP(close_fd_p) int data = open(data_dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (data < 0)
        return err_sys(err, -errno, "open data folder %s", data_dir);
    struct stat st;
    for (size_t i = 0; i < sizeof(roots) / sizeof(*roots);
         i++) /* the launcher trusts them; a missing one is made below */
        if (fstatat(data, roots[i], &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_uid != 0)
            return err_set(err, ERR_FORBIDDEN, 0,
                           "folder %s of the data folder belongs to user %u: use another --data-dir", roots[i],
                           (unsigned)st.st_uid);
    int r = 0;
    for (size_t i = 0; r == 0 && i < sizeof(roots) / sizeof(*roots); i++)
        r = give_folder(data, roots[i], root, strcmp(roots[i], "run") == 0 ? 0755 : 0700, err);
    if (r == 0)
        r = give_images(data, uid, gid, err);
    if (r == 0 && fstatat(data, "audit", &st, AT_SYMLINK_NOFOLLOW) == 0) {
        r = give_folder(data, "audit", server, 0700, err);
        if (r == 0)
            r = give_files(data, "audit", server, 0600, err);
    }
    if (r == 0 && fstatat(data, "vm", &st, AT_SYMLINK_NOFOLLOW) == 0)
        r = give_tree(data, "vm", server, TREE_DEPTH, err);
    if (r == 0)
        r = give_files(data, ".", server, 0600, err);
    if (r == 0 && (r = set_owner(data, (struct owner){ 0, gid }, uid ? 01770 : 0700)) < 0)
        return err_sys(err, r, "hand over data folder %s", data_dir);
    return r;
}
