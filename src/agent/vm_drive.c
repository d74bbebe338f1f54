#include "agent/vm_drive.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/loop.h"
#include "agent/vm_uevent.h"
#include "os/mount.h"

#define DEVICE_S     10                /* from the host's note to the device */
#define SERIAL_PAGE  "device/vpd_pg80" /* below a device of /sys/block */
#define PAGE_HEADER  4
#define DEVICE_BYTES 32

struct outcome {
    int32_t result;
    char why[sizeof(((struct box_root *)0)->why)];
};

/* --- which device it is --- */

static bool find_device(const char *serial, char ret[DEVICE_BYTES])
{
    char path[DEVICE_BYTES + sizeof(SERIAL_PAGE) + 1], page[256];
    size_t len = strlen(serial);
    DIR *dir = opendir("/sys/block");
    bool is_found = false;
    for (const struct dirent *e; dir && !is_found && (e = readdir(dir));) {
        if (strncmp(e->d_name, "sd", 2) != 0 || strlen(e->d_name) + sizeof("/dev/") > DEVICE_BYTES)
            continue;
        (void)snprintf(path, sizeof(path), "%.20s/" SERIAL_PAGE, e->d_name);
        int fd = openat(dirfd(dir), path, O_RDONLY | O_CLOEXEC);
        ssize_t n = fd < 0 ? -1 : read(fd, page, sizeof(page));
        if (fd >= 0)
            (void)close(fd); /* read only */
        is_found = n == (ssize_t)(PAGE_HEADER + len) && memcmp(page + PAGE_HEADER, serial, len) == 0;
        (void)snprintf(ret, DEVICE_BYTES, "/dev/%.20s", e->d_name);
    }
    if (dir)
        (void)closedir(dir);
    return is_found;
}

static int wait_for_device(struct box_root *b, const char *serial, char ret[DEVICE_BYTES])
{
    int uevents = vm_uevent_open(), fd;
    uint64_t end = agent_loop_now_us() + DEVICE_S * 1000000u;
    do /* it is visible before it works, and announced when it works */
        fd = find_device(serial, ret) ? open(ret, O_RDONLY | O_CLOEXEC) : -1;
    while (fd < 0 && vm_uevent_wait(uevents, end));
    if (uevents >= 0)
        (void)close(uevents);
    return fd >= 0 ? close(fd) : box_root_fail(b, -ENODEV, "no drive %s after %d s", serial, DEVICE_S);
}

/* --- in the child --- */

static int join_agent(struct box_root *b, pid_t agent)
{
    char path[40];
    (void)snprintf(path, sizeof(path), "/proc/%d/ns/mnt", (int)agent);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    int r = fd < 0 || setns(fd, CLONE_NEWNS) < 0 ? -errno : 0;
    if (fd >= 0)
        (void)close(fd);
    return r < 0 ? box_root_fail(b, r, "join the agent's mounts") : 0;
}

static bool is_drive(int folder, dev_t device)
{
    struct stat st;
    return folder >= 0 && fstat(folder, &st) == 0 && st.st_dev == device;
}

static int mount_drive(struct box_root *b, const struct vm_handshake *note, pid_t agent)
{
    char device[DEVICE_BYTES];
    struct stat st;
    int tree = BOX_ROOT_NONE, place = BOX_ROOT_NONE, r = wait_for_device(b, note->hostname, device);
    if (r >= 0 && stat(device, &st) < 0)
        r = box_root_fail(b, -errno, "look at %s", device);
    bool is_readonly = note->flags & VM_HANDSHAKE_READONLY;
    struct box_root_option options[] = { { "source", device }, { is_readonly ? "ro" : NULL, NULL }, { NULL, NULL } };
    if (r >= 0)
        r = box_root_detached(b, "ext4", options,
                              MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | (is_readonly ? MOUNT_ATTR_RDONLY : 0), &tree);
    if (r == -EROFS && is_readonly)
        return box_root_fail(b, r,
                             "the drive was not unmounted by the VM that wrote to it last: attach it once for "
                             "writing, which repairs that");
    if (r >= 0)
        r = join_agent(b, agent);
    if (r < 0)
        return r;
    place = mount_walk(note->workdir, 1);
    if (place == -EXDEV && is_drive(mount_walk(note->workdir, 0), st.st_rdev))
        return 0; /* a repeated note, whose reply was lost */
    r = place < 0 ? place : mount_attach(tree, place);
    return r < 0 ? box_root_fail(b, r, "mount on %.100s", note->workdir) : 0;
}

static int leave_drive(struct box_root *b, const struct vm_handshake *note, pid_t agent)
{
    char device[DEVICE_BYTES];
    struct stat st;
    if (note->what == VM_HANDSHAKE_FREEZE && strcmp(note->hostname, VM_HANDSHAKE_ALL) == 0) {
        sync();
        return 0;
    }
    if (!find_device(note->hostname, device) || stat(device, &st) < 0)
        return 0;
    int r = join_agent(b, agent);
    int place = r < 0 ? r : mount_walk(note->workdir, 0);
    if (r < 0)
        return r;
    if (!is_drive(place, st.st_rdev)) { /* a process inside has moved its folder out of sight */
        sync();
        return 0;
    }
    int top = openat(place, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    /* Syncs and freezes as an unmount would, even with open files: the next VM finds a clean file system. */
    if (note->what != VM_HANDSHAKE_UNMOUNT)
        return top < 0 || ioctl(top, FIFREEZE, 0) < 0 ? box_root_fail(b, -errno, "freeze drive %s", note->hostname) : 0;
    /* A process with open files keeps the file system alive but not mounted; what was written is on the drive. */
    if (top < 0 || syncfs(top) < 0)
        return box_root_fail(b, -errno, "write what is left to drive %s", note->hostname);
    if (fchdir(place) < 0 || umount2(".", MNT_DETACH) < 0)
        return box_root_fail(b, -errno, "unmount %.100s", note->workdir);
    return 0; /* this process is the last that holds it, unless one of the box does */
}

int vm_drive_do(struct box_root *b, const struct vm_handshake *note, pid_t agent)
{
    struct outcome out = { .result = -EIO };
    int ends[2], status;
    if (pipe2(ends, O_CLOEXEC) < 0)
        return box_root_fail(b, -errno, "make a pipe");
    pid_t pid = fork();
    if (pid == 0) {
        out.result = note->what == VM_HANDSHAKE_MOUNT ? mount_drive(b, note, agent) : leave_drive(b, note, agent);
        memcpy(out.why, b->why, sizeof(out.why));
        _exit(write(ends[1], &out, sizeof(out)) != (ssize_t)sizeof(out));
    }
    (void)close(ends[1]);
    ssize_t n = pid < 0 ? -1 : read(ends[0], &out, sizeof(out));
    (void)close(ends[0]);
    /* Waits for its exit as well: only then none of our processes holds the drive. */
    if (pid < 0 || waitpid(pid, &status, 0) != pid || n != (ssize_t)sizeof(out))
        return box_root_fail(b, -EIO, "run a process for a drive");
    memcpy(b->why, out.why, sizeof(b->why));
    return out.result;
}
