#include "vm/boot/kernel.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "os/mount.h"
#include "os/program.h"

#define META        "linux-image-cloud-amd64" /* the metapackage that depends on the newest kernel's package */
#define IMAGE       "vmlinuz-"
#define FLAVOUR     "-cloud-amd64"
#define SHOW_MAX    (256u << 10)
#define ASK_MS      60000
#define FETCH_MS    900000
#define UNPACK_MS   120000
#define NAME_LETTER "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_+~"

static const char *const apt_environment[] = { "http_proxy", "https_proxy", "no_proxy", "APT_CONFIG", NULL };

/* --- folders with boot/ and lib/modules/ --- */

static bool is_image(const char *name, const char *flavour)
{
    size_t len = strlen(name), end = strlen(flavour);
    return strncmp(name, IMAGE, strlen(IMAGE)) == 0 && len < 128 && strspn(name, NAME_LETTER) == len && len > end &&
           strcmp(name + len - end, flavour) == 0;
}

/* The newest kernel in the tree's boot/, as "boot/vmlinuz-…"; NULL: none. Caller frees. */
static char *newest_image(int tree, const char *flavour)
{
    char *best = NULL;
    int fd = mount_open_beneath(tree, "boot", O_RDONLY | O_DIRECTORY, 0);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d)
        return NULL;
    for (const struct dirent *e; (e = readdir(d));)
        if (is_image(e->d_name, flavour) && (!best || strverscmp(e->d_name, best) > 0)) {
            free(best);
            best = xstrdup(e->d_name);
        }
    (void)closedir(d); /* read only */
    char *path = best ? xasprintf("boot/%s", best) : NULL;
    free(best);
    return path;
}

static int open_modules(int tree, const char *version)
{
    static const char *const folders[] = { "usr/lib/modules", "lib/modules" };
    char path[128];
    for (size_t i = 0; *version && i < sizeof(folders) / sizeof(*folders); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", folders[i], version);
        int fd = mount_open_beneath(tree, path, O_RDONLY | O_DIRECTORY, 0);
        if (fd >= 0)
            return fd;
    }
    return NO_FD;
}

int vm_kernel_modules(const struct vm_kernel *k, const char *version)
{
    int found = k->tree >= 0 ? open_modules(k->tree, version) : NO_FD;
    if (found >= 0 || k->kind != VM_KERNEL_FILE)
        return found;
    CLEANUP(close_fd_p) int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    return root < 0 ? NO_FD : open_modules(root, version);
}

/* --- choosing --- */

static char *identity_of(const char *path, const struct stat *st)
{
    return xasprintf("%s (%lld bytes, %lld)", path, (long long)st->st_size, (long long)st->st_mtim.tv_sec);
}

static int choose_path(const char *path, struct vm_kernel *ret, struct err *err)
{
    struct stat st;
    size_t len = strlen(path);
    if (stat(path, &st) < 0)
        return err_set(err, ERR_NOT_FOUND, errno, "the kernel %s", path);
    if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
        return err_set(err, ERR_INVALID, 0, "the kernel %s is neither a file nor a folder", path);
    ret->kind = S_ISDIR(st.st_mode) ? VM_KERNEL_FOLDER : VM_KERNEL_FILE;
    if (ret->kind == VM_KERNEL_FILE && len > 4 && strcmp(path + len - 4, ".deb") == 0)
        ret->kind = VM_KERNEL_DEB;
    ret->where = realpath(path, NULL);
    if (!ret->where)
        return err_sys(err, -errno, "the kernel %s", path);
    if (ret->kind == VM_KERNEL_FOLDER) { /* its identity must change with the kernel in it */
        CLEANUP(close_fd_p) int tree = open(ret->where, O_PATH | O_DIRECTORY | O_CLOEXEC);
        CLEANUP(free_p) char *image = tree < 0 ? NULL : newest_image(tree, "");
        if (!image || fstatat(tree, image, &st, AT_SYMLINK_NOFOLLOW) < 0)
            return err_set(err, ERR_NOT_FOUND, 0, "%s has no boot/" IMAGE "*", ret->where);
        CLEANUP(free_p) char *full = xasprintf("%s/%s", ret->where, image);
        ret->identity = identity_of(full, &st);
        return 0;
    }
    ret->identity = identity_of(ret->where, &st);
    return 0;
}

static bool choose_installed(struct vm_kernel *ret)
{
    CLEANUP(close_fd_p) int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    CLEANUP(free_p) char *path = root < 0 ? NULL : newest_image(root, FLAVOUR);
    if (!path)
        return false;
    CLEANUP(close_fd_p) int modules = open_modules(root, path + strlen("boot/" IMAGE));
    CLEANUP(free_p) char *full = xasprintf("/%s", path);
    struct stat st;
    if (modules < 0 || access(full, R_OK) < 0 || stat(full, &st) < 0)
        return false;
    ret->kind = VM_KERNEL_FILE;
    ret->identity = identity_of(full, &st);
    ret->where = STEAL(full);
    return true;
}

/* Parses "Depends: linux-image-6.1.0-54-cloud-amd64 (= 6.1.190-1)" in the output of apt-cache. */
static char *parse_dependency(const char *text)
{
    static const char field[] = "\nDepends:", prefix[] = "linux-image-";
    const char *line = strstr(text, field), *end = line ? strchr(line + 1, '\n') : NULL;
    const char *name = line ? strstr(line, prefix) : NULL;
    if (!name || (end && name > end))
        return NULL;
    size_t len = strspn(name, NAME_LETTER);
    const char *equals = name + len;
    if (strncmp(equals, " (= ", 4) != 0)
        return xstrndup(name, len);
    equals += 4;
    size_t version = strspn(equals, NAME_LETTER ":");
    return xasprintf("%.*s=%.*s", (int)len, name, (int)version, equals);
}

static char *ask_apt(struct err *err)
{
    static const char *const argv[] = { "apt-cache", "show", "--no-all-versions", META, NULL };
    CLEANUP(buf_done) struct buf out = BUF_INIT(SHOW_MAX);
    const struct program_call call = { .argv = argv,
                                       .package = "apt",
                                       .cwd = NO_FD,
                                       .fd = NO_FD,
                                       .limit_ms = ASK_MS,
                                       .out = &out,
                                       .kept = apt_environment };
    if (program_run(&call, err) < 0)
        return NULL;
    char *name = parse_dependency(buf_text(&out));
    if (!name)
        (void)err_set(err, ERR_NOT_FOUND, 0, "apt's package " META " names no kernel");
    return name;
}

static int update_apt(struct err *err)
{
    static const char *const argv[] = { "apt-get", "update", "-q", NULL };
    const struct program_call call = {
        .argv = argv, .package = "apt", .cwd = NO_FD, .fd = NO_FD, .limit_ms = FETCH_MS, .kept = apt_environment
    };
    return program_run(&call, err);
}

static int choose_package(vm_kernel_say_fn *say, void *arg, struct vm_kernel *ret, struct err *err)
{
    ret->kind = VM_KERNEL_APT;
    ret->where = ask_apt(err);
    if (!ret->where && err->code != ERR_UNSUPPORTED && geteuid() == 0) {
        say(arg, "apt does not know " META " yet: apt-get update");
        if (update_apt(err) >= 0)
            ret->where = ask_apt(err);
    }
    if (!ret->where)
        return err_wrap(err, -ENOENT,
                        "no kernel: give one with --kernel, or install " META ", or run apt-get update as root");
    ret->identity = xasprintf("package %s", ret->where);
    return 0;
}

int vm_kernel_choose(const char *setting, vm_kernel_say_fn *say, void *arg, struct vm_kernel *ret, struct err *err)
{
    *ret = (struct vm_kernel){ .image = NO_FD, .tree = NO_FD };
    if (setting && *setting)
        return choose_path(setting, ret, err);
    return choose_installed(ret) ? 0 : choose_package(say, arg, ret, err);
}

/* --- taking --- */

static int take_folder(struct vm_kernel *k, int tree, struct err *err)
{
    CLEANUP(free_p) char *path = newest_image(tree, "");
    if (!path)
        return err_set(err, ERR_NOT_FOUND, 0, "%s has no boot/" IMAGE "*", k->where);
    k->image = mount_open_beneath(tree, path, O_RDONLY | O_NONBLOCK, 0);
    return k->image < 0 ? err_sys(err, k->image, "open %s of %s", path, k->where) : 0;
}

static int unpack_deb(struct vm_kernel *k, const char *deb, int work, struct err *err)
{
    const char *const argv[] = { "dpkg-deb", "-x", deb, "tree", NULL };
    const struct program_call call = {
        .argv = argv, .package = "dpkg", .cwd = work, .fd = NO_FD, .limit_ms = UNPACK_MS
    };
    int r = program_run(&call, err);
    if (r < 0)
        return r;
    k->tree = openat(work, "tree", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return k->tree < 0 ? err_sys(err, -errno, "open what %s holds", deb) : take_folder(k, k->tree, err);
}

/* Finds the one package in the folder: its file name has the version in a form that only apt knows. */
static char *find_deb(int work)
{
    char *found = NULL;
    int fd = openat(work, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d)
        return NULL;
    for (const struct dirent *e; !found && (e = readdir(d));) {
        size_t len = strlen(e->d_name);
        if (len > 4 && strcmp(e->d_name + len - 4, ".deb") == 0)
            found = xasprintf("./%s", e->d_name);
    }
    (void)closedir(d); /* read only */
    return found;
}

static int fetch_deb(struct vm_kernel *k, int work, struct err *err)
{
    /* As root, apt would download as another user, who cannot write into our folder. */
    const char *const argv[] = { "apt-get", "download", "-q", "-o", "APT::Sandbox::User=root", k->where, NULL };
    const struct program_call call = {
        .argv = argv, .package = "apt", .cwd = work, .fd = NO_FD, .limit_ms = FETCH_MS, .kept = apt_environment
    };
    int r = program_run(&call, err);
    if (r < 0)
        return err_wrap(err, r, "fetch the kernel");
    CLEANUP(free_p) char *deb = find_deb(work);
    return deb ? unpack_deb(k, deb, work, err) : err_set(err, ERR_UPSTREAM, 0, "apt-get download left no package");
}

static int take_file(struct vm_kernel *k, struct err *err)
{
    CLEANUP(free_p) char *folder = xstrdup(k->where);
    k->image = open(k->where, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (k->image < 0)
        return err_sys(err, -errno, "open the kernel %s", k->where);
    /* The modules of DIR/boot/vmlinuz are in DIR/lib/modules. */
    for (int up = 0; up < 2; up++) {
        char *slash = strrchr(folder, '/');
        if (slash)
            *slash = '\0';
    }
    k->tree = open(*folder ? folder : "/", O_PATH | O_DIRECTORY | O_CLOEXEC); /* no folder: the modules are below / */
    return 0;
}

int vm_kernel_take(struct vm_kernel *k, int work, vm_kernel_say_fn *say, void *arg, struct err *err)
{
    char line[600];
    static const char *const verbs[] = { [VM_KERNEL_FILE] = "reading",
                                         [VM_KERNEL_FOLDER] = "reading",
                                         [VM_KERNEL_DEB] = "unpacking",
                                         [VM_KERNEL_APT] = "fetching package" };
    (void)snprintf(line, sizeof(line), "%s %.500s", verbs[k->kind], k->where);
    say(arg, line);
    switch (k->kind) {
    case VM_KERNEL_FILE:
        return take_file(k, err);
    case VM_KERNEL_FOLDER:
        k->tree = open(k->where, O_PATH | O_DIRECTORY | O_CLOEXEC);
        return k->tree < 0 ? err_sys(err, -errno, "open %s", k->where) : take_folder(k, k->tree, err);
    case VM_KERNEL_DEB:
        return unpack_deb(k, k->where, work, err);
    case VM_KERNEL_APT:
        return fetch_deb(k, work, err);
    }
    return -EINVAL;
}

void vm_kernel_done(struct vm_kernel *k)
{
    close_fd_p(&k->image);
    close_fd_p(&k->tree);
    free(k->where);
    free(k->identity);
    *k = (struct vm_kernel){ .image = NO_FD, .tree = NO_FD };
}
