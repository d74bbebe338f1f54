/* Items 1 and 2: what a command is started with, and every link that could lead to a file of the host. The init process
 * of a sandbox is our agent, which runs from a sealed memory file; none of its links may be opened, let alone
 * written. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "escape/probe/probe.h"

#define FDS_TRIED 64

static void descriptors(void)
{
    DIR *d = opendir("/proc/self/fd");
    char more[160] = "";
    int n = 0;
    for (struct dirent *e; d && (e = readdir(d));) {
        int fd = (int)strtol(e->d_name, NULL, 10);
        if (e->d_name[0] == '.' || fd == dirfd(d) || fd <= 2)
            continue;
        char path[64], target[100];
        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        ssize_t len = readlink(path, target, sizeof(target) - 1);
        target[len > 0 ? len : 0] = '\0';
        snprintf(more + strlen(more), sizeof(more) - strlen(more), " %d=%s", fd, target);
        n++;
    }
    if (d)
        closedir(d);
    probe_row(1, "inherited descriptors", d && n == 0 ? PROBE_DENIED : PROBE_REACHED, n ? "also%s" : "only 0 to 2",
              more);
}

/* Descriptors 0 to 2 must not be files or folders of a file system that is not mounted here. */
static void standard_streams(void)
{
    for (int fd = 0; fd <= 2; fd++) {
        char name[40], path[40], target[256];
        snprintf(name, sizeof(name), "descriptor %d", fd);
        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        ssize_t n = readlink(path, target, sizeof(target) - 1);
        target[n > 0 ? n : 0] = '\0';
        struct stat here, there;
        bool is_file = target[0] == '/';
        bool is_ours = !is_file || (fstat(fd, &here) == 0 && stat(target, &there) == 0 && here.st_ino == there.st_ino &&
                                    here.st_dev == there.st_dev);
        probe_row(1, name, n > 0 && is_ours ? PROBE_DENIED : PROBE_REACHED, "%s", target);
    }
}

/* From a folder of a leaked descriptor, its parents lead to the host. */
static void dots(const struct probe_ctx *ctx)
{
    if (!ctx->marker)
        return;
    int leaked = -1;
    for (int fd = 0; fd < FDS_TRIED && leaked < 0; fd++) {
        char path[4200];
        snprintf(path, sizeof(path), "/proc/self/fd/%d/../../../../../../../..%s", fd, ctx->marker);
        const char *text = probe_text(path);
        if (text && strstr(text, ctx->secret))
            leaked = fd;
    }
    const char *text = probe_text(ctx->marker);
    bool is_seen = text && strstr(text, ctx->secret);
    probe_row(1, "the host's files through a descriptor", leaked < 0 ? PROBE_DENIED : PROBE_REACHED,
              leaked < 0 ? "%d tried" : "descriptor %d", leaked < 0 ? FDS_TRIED : leaked);
    probe_row(1, "a file of the host by its path", is_seen ? PROBE_REACHED : PROBE_DENIED, "%s", ctx->marker);
}

/* The classic chroot escape: a folder held open across a second chroot. */
static int leave_chroot(const void *arg)
{
    const struct probe_ctx *ctx = arg;
    char path[4200];
    int root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (mkdir("/tmp/probe-jail", 0700) < 0 && errno != EEXIST)
        return 2;
    if (chroot("/tmp/probe-jail") < 0 || fchdir(root) < 0)
        return 3;
    for (int i = 0; i < 64; i++)
        (void)!chdir("..");
    if (chroot(".") < 0)
        return 3;
    (void)rmdir("/tmp/probe-jail");
    snprintf(path, sizeof(path), "%s", ctx->marker);
    const char *text = probe_text(path);
    return text && strstr(text, ctx->secret) ? 0 : 1;
}

void probe_handles(const struct probe_ctx *ctx)
{
    descriptors();
    if (!ctx->is_outside) {
        char cwd[4096] = ""; /* a folder outside our root has no name here: the kernel says "(unreachable)" */
        long r = syscall(SYS_getcwd, cwd, sizeof(cwd));
        probe_row(1, "working folder", r > 0 && cwd[0] == '/' ? PROBE_DENIED : PROBE_REACHED, "%s", cwd);
        standard_streams();
    }
    dots(ctx);
    if (!ctx->marker)
        return;
    int code = probe_child(leave_chroot, ctx);
    probe_row(1, "out of a chroot by a held folder", code == 0 ? PROBE_REACHED : PROBE_DENIED, "code %d", code);
}

/* ---- links of processes ---- */

static void open_row(const char *path, int flags)
{
    char name[100];
    snprintf(name, sizeof(name), "open %s%s", path, flags & O_ACCMODE ? " to write" : "");
    int fd = open(path, flags | O_CLOEXEC | O_NONBLOCK);
    int why = errno;
    if (fd < 0 && (why == ENOENT || why == ETXTBSY))
        probe_row(2, name, PROBE_DENIED, "%s", strerror(why));
    else {
        errno = why;
        probe_call(2, name, fd);
    }
    if (fd >= 0)
        close(fd);
}

static void entries_of(const char *folder)
{
    DIR *d = opendir(folder);
    if (!d) {
        open_row(folder, O_RDONLY);
        return;
    }
    for (struct dirent *e; (e = readdir(d));) {
        char path[400];
        snprintf(path, sizeof(path), "%s/%s", folder, e->d_name);
        if (e->d_name[0] != '.') {
            open_row(path, O_RDONLY);
            open_row(path, O_WRONLY);
        }
    }
    closedir(d);
}

/* Our own program file may be named in maps, but never the supervisor's. */
static void own_links(void)
{
    struct stat exe, file;
    bool is_here = stat("/proc/self/exe", &exe) == 0;
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
    path[n > 0 ? n : 0] = '\0';
    bool is_inside =
        is_here && n > 0 && stat(path, &file) == 0 && file.st_ino == exe.st_ino && file.st_dev == exe.st_dev;
    probe_row(2, "own program file", is_inside ? PROBE_DENIED : PROBE_REACHED, "%s is the file of this sandbox", path);
    struct stat root, self;
    bool is_root = stat("/", &root) == 0 && stat("/proc/self/root/", &self) == 0 && root.st_ino == self.st_ino;
    probe_row(2, "own root link", is_root ? PROBE_DENIED : PROBE_REACHED, "leads to our own root");
}

void probe_links(const struct probe_ctx *ctx)
{
    if (ctx->is_outside) { /* root of the host can open all of these; pid 1 has its own namespace */
        open_row("/proc/1/exe", O_RDONLY);
        open_row("/proc/1/root", O_RDONLY);
        open_row("/proc/1/cwd", O_RDONLY);
        open_row("/proc/1/mem", O_RDONLY);
        open_row("/proc/1/environ", O_RDONLY);
        return;
    }
    own_links();
    static const char *const links[] = { "exe",  "root",    "cwd",    "mem",     "environ", "maps",
                                         "auxv", "pagemap", "ns/mnt", "ns/user", "ns/net",  "ns/pid" };
    for (size_t i = 0; i < sizeof(links) / sizeof(*links); i++) {
        char path[64];
        snprintf(path, sizeof(path), "/proc/1/%s", links[i]);
        open_row(path, O_RDONLY);
        if (i < 4)
            open_row(path, O_WRONLY);
    }
    entries_of("/proc/1/fd");
    entries_of("/proc/1/map_files");
    entries_of("/proc/1/fdinfo");
    /* Abstract sockets belong to the network namespace: those of the host, such as X servers' and containerd's, must
     * not be reachable. */
    const char *text = probe_text("/proc/net/unix");
    int n = 0;
    for (const char *p = text; p && (p = strchr(p, '@')); p++)
        n++;
    probe_row(2, "abstract sockets of others", n ? PROBE_REACHED : PROBE_DENIED, "%d in sight", n);
}
