/* Theory of operation. We are PID 1 of a new pid namespace, in a copy of the VM's mounts, with all privilege. The
 * order is forced: clone what comes from the kernel's /dev, /proc and /sys, detach these, then mount the overlay
 * over the initramfs. The initramfs cannot be pivoted away from (it is the kernel's own), but once the overlay is
 * mounted on its root no path leads below it, and only empty folders are left there. */
#include "agent/vm_root.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/vm_sockets.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/box_caps.h"
#include "agent/box_root.h"
#include "base/limits.h"
#include "os/mount.h"
#include "os/seqsock.h"
#include "os/vm_handshake.h"

#define IMAGE "/image" /* first disk */
#define DISK  "/disk"  /* second disk */
#define ROOT  "/root"

static int mount_disk(struct box_root *b, const char *device, const char *type, unsigned long flags, const char *at)
{
    if (mkdir(at, 0700) < 0 && errno != EEXIST)
        return box_root_fail(b, -errno, "make %s", at);
    if (mount(device, at, type, flags | MS_NOSUID | MS_NODEV, NULL) < 0)
        return box_root_fail(b, -errno, "mount %s as %s", device, type);
    return 0;
}

static int make_overlay(struct box_root *b, int *ret)
{
    int r = mount_disk(b, "/dev/vda", "erofs", MS_RDONLY, IMAGE);
    if (r >= 0)
        r = mount_disk(b, "/dev/vdb", "ext4", MS_NOATIME, DISK);
    if (r < 0)
        return r;
    if ((mkdir(DISK "/upper", 0755) < 0 && errno != EEXIST) || (mkdir(DISK "/work", 0700) < 0 && errno != EEXIST))
        return box_root_fail(b, -errno, "make folders on /dev/vdb");
    if (mkdir(ROOT, 0700) < 0 && errno != EEXIST)
        return box_root_fail(b, -errno, "make " ROOT);
    if (mount("overlay", ROOT, "overlay", MS_NOSUID | MS_NODEV,
              "lowerdir=" IMAGE ",upperdir=" DISK "/upper,workdir=" DISK "/work,redirect_dir=on,metacopy=off") < 0)
        return box_root_fail(b, -errno, "mount the overlay");
    int root = mount_clone(AT_FDCWD, ROOT);
    if (root < 0)
        return box_root_fail(b, root, "clone the overlay");
    *ret = root;
    return 0;
}

static int open_channel(struct vm_root *v, struct box_root *b)
{
    v->port_fd = v->listen_fd = BOX_ROOT_NONE;
    if (v->port) {
        v->port_fd = open(v->port, O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        return v->port_fd < 0 ? box_root_fail(b, -errno, "open %s", v->port) : 0;
    }
    struct sockaddr_vm addr = { .svm_family = AF_VSOCK, .svm_port = VM_HANDSHAKE_PORT, .svm_cid = VMADDR_CID_ANY };
    v->listen_fd = socket(AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (v->listen_fd < 0)
        return box_root_fail(b, -errno, "make a vsock");
    if (bind(v->listen_fd, (struct sockaddr *)&addr, sizeof(addr)) < 0 || listen(v->listen_fd, 16) < 0)
        return box_root_fail(b, -errno, "listen on vsock port %u", VM_HANDSHAKE_PORT);
    return 0;
}

static int switch_root(struct box_root *b, int root)
{
    static const char *const old[] = { ROOT, DISK, IMAGE, "/sys", "/proc", "/dev" };
    for (size_t i = 0; i < sizeof(old) / sizeof(*old); i++)
        if (umount2(old[i], MNT_DETACH) < 0)
            return box_root_fail(b, -errno, "take %s off", old[i]);
    int top = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    int r = top < 0 ? -errno : mount_attach(root, top);
    if (top >= 0)
        close(top);
    if (r < 0)
        return box_root_fail(b, r, "attach the root");
    if (fchdir(root) < 0 || chroot(".") < 0 || chdir("/") < 0)
        return box_root_fail(b, -errno, "change to the new root");
    return 0;
}

/* Mounts over what is at the path: a read-only copy of a folder, the null device over a file. */
static int mount_over(int root, const char *path, bool is_folder)
{
    int at = mount_open_beneath(root, path, O_PATH | (is_folder ? O_DIRECTORY : 0), 0);
    if (at < 0)
        return at == -ENOENT ? 0 : at;
    int with = is_folder ? mount_clone(at, "") : mount_clone(root, "dev/null");
    int r = with < 0 ? with : 0;
    if (r >= 0 && is_folder)
        r = mount_set(with, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, -1);
    if (r >= 0)
        r = mount_attach(with, at);
    int ends[] = { at, with };
    seqsock_close_all(ends, 2);
    return r;
}

/* In a native box the user namespace denies root access to the kernel's settings. Here root is the kernel's own, so
 * they are read-only, and files that expose the kernel's memory are covered. */
static int guard_proc(struct box_root *b, int root)
{
    static const char *const folders[] = { "proc/sys", "proc/dynamic_debug", "proc/pressure" };
    static const char *const files[] = {
        "proc/kmsg",        "proc/kpagecount", "proc/kpageflags", "proc/kpagecgroup",
        "proc/vmallocinfo", "proc/slabinfo",   "proc/mtrr",       "proc/pagetypeinfo"
    };
    int r = 0;
    for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++)
        if ((r = mount_over(root, folders[i], true)) < 0)
            return box_root_fail(b, r, "make /%s read-only", folders[i]);
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
        if ((r = mount_over(root, files[i], false)) < 0)
            return box_root_fail(b, r, "cover /%s", files[i]);
    return 0;
}

static int root_build(struct vm_root *v, struct box_root *b)
{
    int nodes[BOX_ROOT_NODES], root = BOX_ROOT_NONE;
    memset(nodes, 0xff, sizeof(nodes));
    int r = make_overlay(b, &root);
    if (r >= 0)
        r = open_channel(v, b);
    if (r >= 0)
        r = box_root_prepare(b, LIMIT_MAX(PTYS)); /* its kernel has no other user */
    if (r >= 0)
        r = box_root_sys(b);
    if (r >= 0)
        r = box_root_nodes(b, nodes);
    if (r >= 0)
        r = switch_root(b, root);
    if (r >= 0)
        r = box_root_attach(b, root, "proc", b->proc);
    if (r >= 0)
        r = box_root_dev(b, root, nodes);
    if (r >= 0)
        r = box_root_attach(b, root, "sys", b->sys);
    if (r >= 0)
        r = box_root_attach(b, root, "dev/pts", b->pts);
    if (r >= 0)
        r = box_root_attach(b, root, "dev/shm", b->shm);
    if (r >= 0)
        r = guard_proc(b, root);
    seqsock_close_all(nodes, BOX_ROOT_NODES);
    if (root >= 0)
        close(root);
    return r;
}

void vm_root_enter(struct vm_root *v)
{
    struct box_root b = BOX_ROOT_INIT;
    struct vm_root_ready ready = { 0 };
    int r = root_build(v, &b);
    if (r >= 0 && unshare(CLONE_NEWCGROUP) < 0)
        r = box_root_fail(&b, -errno, "leave the VM's control groups");
    if (r >= 0)
        r = box_root_quiet(&b);
    if (r >= 0)
        r = box_caps_bound(&b);
    if (r >= 0)
        r = box_caps_drop(&b);
    if (r >= 0)
        r = box_caps_filter(&b, v->filter, NULL);
    close(v->filter);
    ready.result = r < 0 ? r : 0;
    snprintf(ready.text, sizeof(ready.text), "%s", b.why);
    struct iovec parts[2] = { { &ready, sizeof(ready) }, { NULL, 0 } };
    int sent = seqsock_send(v->control, parts, &b.shm, r < 0 ? 0 : 1);
    box_root_done(&b);
    if (r < 0 || sent < 0)
        _exit(1); /* the init process ends the VM */
}
