#include "runtime/native/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/loop.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "os/mount.h"
#include "os/proc.h"
#include "os/seqsock.h"
#include "runtime/mkext4.h"

#define LOOP_TRIES 64     /* other processes take free devices at the same time */
#define LOOP_LINK  "loop" /* boxes/NAME/loop: a link that names the device's number */

struct outcome {
    int result;
    struct err err;
};

int native_disk_check(struct err *err)
{
    if (geteuid() != 0)
        return err_set(err, ERR_UNSUPPORTED, 0,
                       "diskMb needs a server that runs as root: unprivileged users have no loop devices");
    CLEANUP(close_fd_p) int ctl = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
    if (ctl < 0)
        return err_set(err, ERR_UNSUPPORTED, errno,
                       "diskMb needs loop devices (modprobe loop): open /dev/loop-control");
    if (!mkext4_is_there())
        return err_set(err, ERR_UNSUPPORTED, 0, "diskMb needs mkfs.ext4: install e2fsprogs");
    return 0;
}

/* --- making, in the child --- */

static int open_loop(unsigned number)
{
    char path[32];
    (void)snprintf(path, sizeof(path), "/dev/loop%u", number);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

/* Attaches the image to a free device. */
static int take_loop(int image, unsigned *ret_number, struct err *err)
{
    CLEANUP(close_fd_p) int ctl = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
    int r = ctl < 0 ? -errno : -EBUSY;
    for (int tries = 0; ctl >= 0 && r == -EBUSY && tries < LOOP_TRIES; tries++) {
        int number = ioctl(ctl, LOOP_CTL_GET_FREE);
        CLEANUP(close_fd_p) int fd = number < 0 ? -errno : open_loop((unsigned)number);
        struct loop_config config = { .fd = (uint32_t)image,
                                      .block_size = 4096,
                                      .info = { .lo_flags = LO_FLAGS_AUTOCLEAR | LO_FLAGS_DIRECT_IO } };
        r = fd < 0 ? fd : ioctl(fd, LOOP_CONFIGURE, &config) < 0 ? -errno : 0;
        config.info.lo_flags = LO_FLAGS_AUTOCLEAR;
        if (fd >= 0 && r == -EINVAL) /* the host's file system has no direct I/O */
            r = ioctl(fd, LOOP_CONFIGURE, &config) < 0 ? -errno : 0;
        if (r < 0)
            continue;
        *ret_number = (unsigned)number;
        return steal_fd(&fd);
    }
    return err_sys(err, r, "find a free loop device");
}

static int mount_loop(int loop, struct err *err)
{
    char path[32];
    CLEANUP(close_fd_p) int fs = mount_fs_open("ext4");
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", loop);
    int r = fs < 0 ? fs : mount_fs_string(fs, "source", path);
    if (r >= 0)
        r = mount_fs_flag(fs, "noinit_itable"); /* the file is new: unwritten parts are zero */
    if (r >= 0)
        r = mount_fs_flag(fs, "discard"); /* space that the box frees goes back to the host */
    if (r >= 0)
        r = mount_fs_make(fs, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
    return r < 0 ? err_sys(err, r, "mount the disk of a box") : r;
}

static int disk_make(const struct native_box *c, const struct wire_request *q, struct err *err)
{
    char text[16];
    unsigned number = 0;
    CLEANUP(close_fd_p)
    int image = openat(c->box, NATIVE_DISK_IMAGE, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (image < 0 || ftruncate(image, (off_t)mkext4_bytes(q->disk_mb, q->inodes)) < 0)
        return err_sys(err, -errno, "make the disk of box %s (%u MB)", c->name, q->disk_mb);
    int r = mkext4_format(image, q->inodes, false, err);
    if (r < 0)
        return r;
    CLEANUP(close_fd_p) int loop = take_loop(image, &number, err);
    if (loop < 0)
        return loop;
    (void)snprintf(text, sizeof(text), "%u", number);
    if (symlinkat(text, c->box, LOOP_LINK) < 0)
        return err_sys(err, -errno, "note the loop device of box %s", c->name);
    return mount_loop(loop, err);
}

int native_disk_start(struct native_box_site *site, struct native_box *c, const struct wire_request *q, struct err *err)
{
    int pair[2], pidfd = NO_FD;
    (void)site;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return err_sys(err, -errno, "socket pair for the disk of a box");
    pid_t pid = proc_clone(0, NO_FD, &pidfd);
    if (pid == 0) {
        struct outcome out = { 0 };
        struct iovec parts[2] = { { &out, sizeof(out) }, { NULL, 0 } };
        /* Copies of the launcher's sockets would hide its death from the daemon and from the prepared boxes. */
        int box = dup3(c->box, 1, O_CLOEXEC), home = dup3(pair[1], 2, O_CLOEXEC);
        if (box < 0 || home < 0 || proc_close_from(3) < 0)
            _exit(1);
        c->box = box;
        int mount = disk_make(c, q, &out.err);
        out.result = mount < 0 ? mount : 0;
        (void)seqsock_send(home, parts, &mount, mount >= 0); /* a launcher that is gone needs no disk */
        _exit(0);
    }
    (void)close(pair[1]); /* the child's */
    if (pid < 0) {
        (void)close(pair[0]);
        return err_sys(err, pid, "start creating a disk");
    }
    c->maker = pair[0];
    c->maker_pid = pid;
    (void)close(pidfd); /* it is reaped by pid: only its parent can do that */
    return 0;
}

int native_disk_take(struct native_box *c, struct err *err)
{
    struct outcome out;
    int mount = NO_FD;
    size_t n = 0;
    ssize_t got = seqsock_recv(c->maker, &out, sizeof(out), &mount, 1, &n);
    (void)close(steal_fd(&c->maker));
    (void)waitpid(c->maker_pid, NULL, 0); /* it has sent its result and exits */
    if (got != (ssize_t)sizeof(out))
        return err_set(err, ERR_INTERNAL, 0, "creating a disk for box %s was interrupted", c->name);
    if (out.result < 0) {
        *err = out.err;
        return out.result;
    }
    return n == 1 ? mount : err_set(err, ERR_INTERNAL, EBADMSG, "no disk was created for box %s", c->name);
}

int native_disk_open(const struct native_box_site *site, const char *name, struct err *err)
{
    char path[64], text[16];
    struct stat st;
    struct loop_info64 info;
    (void)snprintf(path, sizeof(path), "%.16s/" LOOP_LINK, name);
    ssize_t n = readlinkat(site->boxes_fd, path, text, sizeof(text) - 1);
    if (n <= 0)
        return err_sys(err, -errno, "read the loop device of box %s", name);
    text[n] = '\0';
    (void)snprintf(path, sizeof(path), "%.16s/" NATIVE_DISK_IMAGE, name);
    CLEANUP(close_fd_p) int loop = open_loop((unsigned)strtoul(text, NULL, 10));
    if (loop < 0 || ioctl(loop, LOOP_GET_STATUS64, &info) < 0 ||
        fstatat(site->boxes_fd, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return err_sys(err, loop < 0 ? loop : -errno, "open the loop device of box %s", name);
    if (info.lo_inode != st.st_ino) /* the number was reused: the box is gone */
        return err_set(err, ERR_GONE, 0, "the disk of box %s is gone", name);
    return mount_loop(loop, err);
}
