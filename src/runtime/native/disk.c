#include "runtime/native/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/loop.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "base/cleanup.h"
#include "os/mount.h"
#include "os/proc.h"
#include "os/seqsock.h"
#include "os/tree.h"
#include "runtime/mkext4.h"

#define LOOP_TRIES 64     /* other processes take free devices at the same time */
#define LOOP_LINK  "loop" /* boxes/NAME/loop: a link that names the device's number */
#define GROW_MARK  "grow" /* boxes/NAME/grow: its disk has its new size, the file system on it may not */
#define WAIT_STEPS 500    /* of 20 ms, for the kernel to release a volume that was unmounted or is being mounted */
#define STEP_NS    20000000
#define BLOCK      4096u /* of the file systems that mkext4.h makes */
/* No header for programs has it. Argument: the new number of blocks. */
#define EXT4_RESIZE_FS _IOW('f', 16, uint64_t)

/* The files of a volume, beside its folder of the same id: an id has no dot, so no guest can name a file like them. */
#define VOLUME_IMAGE ".img"
#define VOLUME_NEW   ".new" /* until it is formatted */
#define VOLUME_LINK  ".loop"
#define VOLUME_NAME  64

struct outcome {
    int result;
    struct err err;
};

int native_disk_check(struct err *err)
{
    if (geteuid() != 0)
        return err_set(err, ERR_UNSUPPORTED, 0,
                       "a disk of its own (diskMb, sizeMb) needs a server that runs as root: unprivileged users have "
                       "no loop devices");
    CLEANUP(close_fd_p) int ctl = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
    if (ctl < 0)
        return err_set(err, ERR_UNSUPPORTED, errno,
                       "a disk of its own (diskMb, sizeMb) needs loop devices (modprobe loop): open /dev/loop-control");
    if (!mkext4_is_there())
        return err_set(err, ERR_UNSUPPORTED, 0,
                       "a disk of its own (diskMb, sizeMb) needs mkfs.ext4: install e2fsprogs");
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
    return r < 0 ? err_sys(err, r, "mount the disk") : r;
}

/* Puts the image on a loop device, notes its number in dir/link, and mounts it. */
static int mount_image(int dir, const char *link, int image, struct err *err)
{
    char text[16];
    unsigned number = 0;
    CLEANUP(close_fd_p) int loop = take_loop(image, &number, err);
    if (loop < 0)
        return loop;
    (void)snprintf(text, sizeof(text), "%u", number);
    (void)unlinkat(dir, link, 0); /* of a device that is gone */
    if (symlinkat(text, dir, link) < 0)
        return err_sys(err, -errno, "note the loop device");
    return mount_loop(loop, err);
}

/* The loop device that dir/link names, when dir/name is still what it shows: a number is used again. */
static int find_loop(int dir, const char *link, const char *name, struct err *err)
{
    char text[16];
    struct stat st;
    struct loop_info64 info;
    ssize_t n = readlinkat(dir, link, text, sizeof(text) - 1);
    if (n <= 0)
        return err_sys(err, -errno, "read the loop device in %s", link);
    text[n] = '\0';
    CLEANUP(close_fd_p) int loop = open_loop((unsigned)strtoul(text, NULL, 10));
    if (loop < 0 || ioctl(loop, LOOP_GET_STATUS64, &info) < 0 || fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return err_sys(err, loop < 0 ? loop : -errno, "open the loop device of %s", name);
    if (info.lo_inode != st.st_ino || info.lo_device != st.st_dev)
        return err_set(err, ERR_GONE, 0, "the loop device of %s is gone", name);
    return steal_fd(&loop);
}

/* Mounts the disk once more by the loop device that its folder names, if that still has it. */
static int disk_open(int box, struct err *err)
{
    CLEANUP(close_fd_p) int loop = find_loop(box, LOOP_LINK, NATIVE_DISK_IMAGE, err);
    return loop < 0 ? loop : mount_loop(loop, err);
}

static int disk_make(const struct native_box *c, const struct wire_request *q, struct err *err)
{
    CLEANUP(close_fd_p)
    int image = openat(c->box, NATIVE_DISK_IMAGE, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (image < 0 || ftruncate(image, (off_t)mkext4_bytes(q->disk_mb, q->inodes)) < 0)
        return err_sys(err, -errno, "make the disk of box %s (%u MB)", c->name, q->disk_mb);
    int r = mkext4_format(image, q->inodes, false, err);
    return r < 0 ? r : mount_image(c->box, LOOP_LINK, image, err);
}

/* Gives the image the size of the request. 1: the file system is to follow, as the mark says after a crash as well; 0:
 * it has that size. */
static int image_stretch(int box, int image, const struct wire_request *q, struct err *err)
{
    struct stat st;
    uint64_t bytes = mkext4_bytes(q->disk_mb, q->inodes);
    if (fstat(image, &st) < 0)
        return err_sys(err, -errno, "look at a disk");
    bool is_marked = faccessat(box, GROW_MARK, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
    if ((uint64_t)st.st_size >= bytes)
        return is_marked;
    if (!is_marked && symlinkat("disk", box, GROW_MARK) < 0)
        return err_sys(err, -errno, "note that a disk grows");
    return ftruncate(image, (off_t)bytes) < 0 ? err_sys(err, -errno, "grow a disk to %u MB", q->disk_mb) : 1;
}

static int disk_grow_mounted(int box, const struct wire_request *q, struct err *err)
{
    CLEANUP(close_fd_p) int image = openat(box, NATIVE_DISK_IMAGE, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    CLEANUP(close_fd_p) int loop = find_loop(box, LOOP_LINK, NATIVE_DISK_IMAGE, err);
    if (image < 0 || loop < 0)
        return loop < 0 ? loop : err_sys(err, -errno, "open the disk of box %s", q->name);
    CLEANUP(close_fd_p) int mount = mount_loop(loop, err);
    CLEANUP(close_fd_p) int top = mount < 0 ? NO_FD : openat(mount, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int r = mount < 0 ? mount : top < 0 ? err_sys(err, -errno, "open the disk of box %s", q->name) : 0;
    if (r == 0)
        r = image_stretch(box, image, q, err);
    if (r <= 0)
        return r;
    uint64_t blocks = mkext4_bytes(q->disk_mb, q->inodes) / BLOCK;
    if (ioctl(loop, LOOP_SET_CAPACITY, 0) < 0 || ioctl(top, EXT4_RESIZE_FS, &blocks) < 0)
        return err_sys(err, -errno, "grow the disk of box %s to %u MB", q->name, q->disk_mb);
    (void)unlinkat(box, GROW_MARK, 0); /* else the next start finds nothing to do */
    return 0;
}

int native_disk_grow(const struct native_box_site *site, const struct wire_request *q, struct err *err)
{
    if (prctl(PR_CAPBSET_READ, CAP_SYS_RESOURCE, 0, 0, 0) != 1)
        return err_set(err, ERR_UNSUPPORTED, EPERM,
                       "the disk of a running sandbox grows only on a server with CAP_SYS_RESOURCE, which this one "
                       "lacks: stop the sandbox, change diskMb, and start it");
    CLEANUP(close_fd_p) int box = openat(site->boxes_fd, q->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return box < 0 ? err_sys(err, -errno, "open box folder %s", q->name) : disk_grow_mounted(box, q, err);
}

/* Before the disk of a halted box is mounted. */
static int disk_grow_kept(const struct native_box *c, int image, const struct wire_request *q, struct err *err)
{
    const struct timespec step = { .tv_nsec = STEP_NS };
    int r = q->disk_mb ? image_stretch(c->box, image, q, err) : 0;
    if (r <= 0)
        return r;
    for (int i = 0, loop; (loop = find_loop(c->box, LOOP_LINK, NATIVE_DISK_IMAGE, NULL)) >= 0; i++) {
        (void)close(loop);
        if (i == WAIT_STEPS)
            return err_set(err, ERR_CONFLICT, EBUSY, "the disk of box %s is still in use: try again", c->name);
        (void)nanosleep(&step, NULL); /* the kernel tells nobody when it releases a device */
    }
    r = mkext4_grow(image, err);
    if (r == 0)
        (void)unlinkat(c->box, GROW_MARK, 0); /* else it is done again, to no effect */
    return r;
}

/* A device that still has the image is used again: two of them would be two file systems on one disk. The overlay needs
 * a new work folder (kept.h). */
static int disk_remount(const struct native_box *c, const struct wire_request *q, struct err *err)
{
    CLEANUP(close_fd_p) int image = openat(c->box, NATIVE_DISK_IMAGE, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (image < 0)
        return err_sys(err, -errno, "open the disk of box %s", c->name);
    int r = disk_grow_kept(c, image, q, err);
    if (r < 0)
        return r;
    CLEANUP(close_fd_p) int mount = disk_open(c->box, NULL);
    if (mount < 0 && (mount = mount_image(c->box, LOOP_LINK, image, err)) < 0)
        return mount;
    CLEANUP(close_fd_p) int top = openat(mount, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (top < 0)
        return err_sys(err, -errno, "open the disk of box %s", c->name);
    r = tree_remove(top, "work", err);
    if (r >= 0 && mkdirat(top, "work", 0700) < 0)
        r = err_sys(err, -errno, "make a work folder on the disk of box %s", c->name);
    return r < 0 ? r : steal_fd(&mount);
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
        int mount = q->is_kept ? disk_remount(c, q, &out.err) : disk_make(c, q, &out.err);
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
    CLEANUP(close_fd_p) int box = openat(site->boxes_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return box < 0 ? err_sys(err, -errno, "open box folder %s", name) : disk_open(box, err);
}

/* --- volumes --- */

static void volume_name(const char *suffix, const char *id, char ret[VOLUME_NAME])
{
    (void)snprintf(ret, VOLUME_NAME, "%.40s%s", id, suffix);
}

int native_disk_volume_open(int volumes, const char *id)
{
    char name[VOLUME_NAME];
    struct stat st;
    volume_name(VOLUME_IMAGE, id, name);
    CLEANUP(close_fd_p) int image = mount_open_beneath(volumes, name, O_RDWR | O_NONBLOCK, 0);
    if (image >= 0 && (fstat(image, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid()))
        return -EPERM; /* the kernel parses only what mkfs made for us */
    return steal_fd(&image);
}

int native_disk_volume_make(int volumes, const char *id, uint32_t mb, struct err *err)
{
    char made[VOLUME_NAME], name[VOLUME_NAME];
    volume_name(VOLUME_NEW, id, made);
    volume_name(VOLUME_IMAGE, id, name);
    int r = native_disk_check(err);
    if (r < 0)
        return r;
    CLEANUP(close_fd_p) int image = openat(volumes, made, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (image < 0 || flock(image, LOCK_EX) < 0)
        return err_sys(err, -errno, "make volume %s", id);
    /* The worker of a launcher that was killed continues: while it had the lock, it may have finished. */
    int finished = native_disk_volume_open(volumes, id);
    if (finished == -ENOENT)
        r = ftruncate(image, 0) < 0 ? err_sys(err, -errno, "empty volume %s", id) : mkext4_volume(image, mb, err);
    else
        (void)unlinkat(volumes, made, 0); /* may have become the volume */
    if (finished >= 0)
        return finished;
    if (finished != -ENOENT)
        return err_sys(err, finished, "open volume %s", id);
    if (r >= 0 && renameat(volumes, made, volumes, name) < 0)
        r = err_sys(err, -errno, "keep volume %s", id);
    if (r < 0)
        (void)unlinkat(volumes, made, 0); /* else the next attempt does */
    return r < 0 ? r : steal_fd(&image);
}

/* The lock belongs to the open file that the loop device keeps: it ends with the device, whichever process dies. While
 * somebody has it, the device is shared, because an image on two devices would be destroyed. */
int native_disk_volume_mount(int volumes, const char *id, int image, struct err *err)
{
    char name[VOLUME_NAME], link[VOLUME_NAME];
    const struct timespec step = { .tv_nsec = STEP_NS };
    volume_name(VOLUME_IMAGE, id, name);
    volume_name(VOLUME_LINK, id, link);
    for (int i = 0; i < WAIT_STEPS; i++) {
        if (flock(image, LOCK_EX | LOCK_NB) == 0)
            return mount_image(volumes, link, image, err);
        CLEANUP(close_fd_p) int loop = find_loop(volumes, link, name, NULL);
        int mount = loop < 0 ? loop : mount_loop(loop, NULL);
        if (mount >= 0)
            return mount;
        (void)nanosleep(&step, NULL); /* the kernel tells nobody when it releases a device */
    }
    return err_set(err, ERR_CONFLICT, EBUSY, "volume %s is still being unmounted elsewhere: try again", id);
}

int native_disk_volume_device(int volumes, const char *id, dev_t *ret)
{
    char name[VOLUME_NAME], link[VOLUME_NAME];
    struct stat st;
    volume_name(VOLUME_IMAGE, id, name);
    volume_name(VOLUME_LINK, id, link);
    CLEANUP(close_fd_p) int loop = find_loop(volumes, link, name, NULL);
    if (loop < 0 || fstat(loop, &st) < 0)
        return loop < 0 ? loop : -errno;
    *ret = st.st_rdev;
    return 0;
}

int native_disk_volume_remove(int volumes, const char *id)
{
    static const char *const all[] = { VOLUME_IMAGE, VOLUME_NEW, VOLUME_LINK };
    char name[VOLUME_NAME];
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        volume_name(all[i], id, name);
        if (unlinkat(volumes, name, 0) < 0 && errno != ENOENT)
            return -errno;
    }
    return 0;
}
