/* Theory of operation. The tool starts a VMM in three steps. Before the child: clone the mounts that its root will hold
 * and build the seccomp filter. In the child, which is in new namespaces: join the control group, open the TAP devices,
 * build and pivot into a root with /usr read-only and the VM's own files, move the descriptors to their fixed numbers,
 * drop to the VM's user id without capabilities, install the filter, exec. In the parent: read the report pipe, which
 * exec closes.
 *
 * `struct jail` holds the descriptors of one start; all are closed on exec or with the process. A failure in the child
 * sends its struct err through the report pipe, and the parent returns it; no process is left.
 *
 * Root gives each VM its own user id (vm_jail_uid_of). An unprivileged user gets a user namespace instead and can
 * only map itself. With III_VM_JAILER, Firecracker's own jailer does the last step (jailer.h). */
#include "vm/vmm/jail.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "os/confine.h"
#include "os/filter.h"
#include "os/mount.h"
#include "os/proc.h"
#include "vm/net/tap.h"
#include "vm/vmm/jailer.h"

#define ROOT_PLACE "/usr" /* any folder: the new root is mounted on it and pivoted to */
#define NOFILE     1024
#define FD_ABOVE   64

/* Programs at the operator's own paths. */
enum { EXTRA_PROGRAM, EXTRA_LIBRARY, EXTRA_JAILER, EXTRA_JAILED, EXTRAS };
static const char *const extra_path[EXTRAS] = { VMM_PROGRAM_PATH, VMM_LIBRARY_PATH, VM_JAILER_PATH, VM_JAILER_VMM };

struct jail {
    const struct vm_tool_wire_request *q;
    const struct vmm_ops *vmm;
    int fds[VM_TOOL_WIRE_FDS];
    struct cgroup_join join;
    int report;                          /* receives a struct err on failure; closed by exec */
    int complaints;                      /* the VMM's standard error; nobody has to read it */
    int taps[VM_TOOL_WIRE_NICS], n_taps; /* TAP devices, unless the VMM opens them itself */
    int usr, kvm, tun, null, named[VM_TOOL_WIRE_FDS], extra[EXTRAS];
    const char *extra_from[EXTRAS]; /* NULL: not used */
    struct filter filter;
    uid_t uid; /* as seen from outside: in a new user namespace no id is mapped yet */
    gid_t gid;
    bool is_root;
    struct vm_jailer_program jailed;
    char inside[VM_JAILER_ROOM_MAX]; /* where the VMM's root is at exec: "", or the jailer's folder */
};

bool vm_jail_is_uid(uid_t uid)
{
    return uid >= VM_JAIL_UID_BASE && uid - VM_JAIL_UID_BASE < VM_JAIL_UIDS;
}

static const struct {
    enum vm_tool_wire_fd fd;
    const char *path;
    bool is_readonly, is_folder;
} files[] = {
    { VM_TOOL_WIRE_FD_KERNEL, VMM_KERNEL_PATH, true }, { VM_TOOL_WIRE_FD_INITRAMFS, VMM_INITRD_PATH, true },
    { VM_TOOL_WIRE_FD_BASE, VMM_BASE_PATH, true },     { VM_TOOL_WIRE_FD_DISK, VMM_DISK_PATH, false },
    { VM_TOOL_WIRE_FD_RAM, VMM_RAM_PATH, false },      { VM_TOOL_WIRE_FD_BOX, VMM_BOX_PATH, false, true },
};
#define FILES (sizeof(files) / sizeof(*files))

static bool has_jailer(const struct jail *j)
{
    return j->extra_from[EXTRA_JAILER];
}

/* --- before the child --- */

/* For an unprivileged user: by name in our own mount namespace, which nobody else can change. */
static int fd_reopen(int fd)
{
    char link[48], path[4096];
    (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof(path) - 1);
    if (n < 0)
        return -errno;
    path[n] = '\0';
    int at = open(path, O_PATH | O_CLOEXEC | O_NOFOLLOW);
    return at < 0 ? -errno : at;
}

/* Root clones them from the host's mounts now; in a user namespace they are cloned later from its own copy. */
static int clone_mounts(struct jail *j, struct err *err)
{
    j->usr = (int)syscall(SYS_open_tree, AT_FDCWD, "/usr", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
    if (j->usr < 0)
        return err_sys(err, -errno, "clone /usr");
    j->null = mount_clone(AT_FDCWD, "/dev/null");
    if (j->null < 0)
        return err_sys(err, j->null, "clone /dev/null");
    if (j->q->flags & VM_TOOL_WIRE_KVM && !has_jailer(j)) /* the jailer makes its own device nodes */
        j->kvm = mount_clone(AT_FDCWD, "/dev/kvm");
    if (j->q->flags & VM_TOOL_WIRE_TAPS && j->vmm->has_vsock && !has_jailer(j) && (j->tun = vm_tap_device(j->uid)) < 0)
        return err_sys(err, j->tun, "make " VM_TAP_DEVICE " for the VMM");
    for (size_t i = 0; i < EXTRAS; i++) {
        CLEANUP(close_fd_p) int at = j->extra_from[i] ? open(j->extra_from[i], O_PATH | O_CLOEXEC) : NO_FD;
        j->extra[i] = j->extra_from[i] && at < 0 ? -errno : at < 0 ? NO_FD : mount_clone(at, "");
        if (j->extra_from[i] && j->extra[i] < 0)
            return err_sys(err, j->extra[i], "clone %s", j->extra_from[i]);
    }
    for (size_t i = 0; i < FILES; i++) {
        j->named[i] = NO_FD;
        if (j->fds[files[i].fd] < 0)
            continue;
        CLEANUP(close_fd_p) int again = j->is_root ? NO_FD : fd_reopen(j->fds[files[i].fd]);
        j->named[i] = mount_clone(j->is_root ? j->fds[files[i].fd] : again, "");
        if (j->named[i] < 0)
            return err_sys(err, j->named[i], "clone the file for %s", files[i].path);
    }
    return 0;
}

/* --- in the child --- */

static int map_self(uid_t uid, gid_t gid)
{
    char text[48];
    const char *const files_of[] = { "/proc/self/setgroups", "/proc/self/uid_map", "/proc/self/gid_map" };
    for (size_t i = 0; i < 3; i++) {
        CLEANUP(close_fd_p) int fd = open(files_of[i], O_WRONLY | O_CLOEXEC);
        int n = i == 0 ? snprintf(text, sizeof(text), "deny")
                       : snprintf(text, sizeof(text), "0 %u 1", i == 1 ? (unsigned)uid : (unsigned)gid);
        if (fd < 0 || write(fd, text, (size_t)n) != n)
            return -errno;
    }
    return 0;
}

static int make_file(int root, const char *path)
{
    CLEANUP(close_fd_p) int fd = openat(root, path + 1, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    return fd < 0 ? -errno : 0;
}

static int mount_at(int root, const char *path, int mount, uint64_t attributes)
{
    int r = mount_set(mount, attributes, NO_FD);
    CLEANUP(close_fd_p) int at = r < 0 ? r : mount_open_beneath(root, path + 1, O_PATH, 0);
    return at < 0 ? at : mount_attach(mount, at);
}

/* Mounts the host's programs and libraries. usr: a clone of its mount. */
static int hang_usr(int root, int usr)
{
    static const char *const links[] = { "bin", "sbin", "lib", "lib64" };
    char target[16];
    int r = mkdirat(root, "usr", 0755) < 0 ? -errno : 0;
    for (size_t i = 0; r >= 0 && i < sizeof(links) / sizeof(*links); i++) {
        (void)snprintf(target, sizeof(target), "usr/%s", links[i]);
        r = symlinkat(target, root, links[i]) < 0 ? -errno : 0;
    }
    return r < 0 ? r : mount_at(root, "/usr", usr, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
}

/* Mounts the files of the VM. */
static int hang_files(const struct jail *j, int root)
{
    int r = 0;
    for (size_t i = 0; r >= 0 && i < FILES; i++) {
        uint64_t more = files[i].is_readonly ? MOUNT_ATTR_RDONLY : 0;
        if (j->named[i] < 0)
            continue;
        if (files[i].is_folder)
            r = mkdirat(root, files[i].path + 1, 0700) < 0 ? -errno : 0;
        else
            r = make_file(root, files[i].path);
        if (r >= 0)
            r = mount_at(root, files[i].path, j->named[i],
                         MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC | more);
    }
    return r;
}

static int fill_root(struct jail *j, int root)
{
    int r = hang_usr(root, j->usr);
    if (r >= 0 && mkdirat(root, "dev", 0755) < 0)
        r = -errno;
    if (r >= 0 && (r = make_file(root, "/dev/null")) >= 0)
        r = mount_at(root, "/dev/null", j->null, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
    if (r >= 0 && j->kvm >= 0 && (r = make_file(root, "/dev/kvm")) >= 0)
        r = mount_at(root, "/dev/kvm", j->kvm, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
    if (r >= 0 && j->tun >= 0 && (r = mkdirat(root, VM_TAP_FOLDER + 1, 0755) < 0 ? -errno : 0) >= 0)
        r = mount_at(root, VM_TAP_FOLDER, j->tun, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
    for (size_t i = 0; r >= 0 && i < EXTRAS; i++)
        if (j->extra[i] >= 0 && (r = make_file(root, extra_path[i])) >= 0)
            r = mount_at(root, extra_path[i], j->extra[i], MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
    if (r < 0 || !has_jailer(j))
        return r < 0 ? r : hang_files(j, root);
    /* The folder that the jailer turns into the VMM's root; the jailer makes the device nodes in it. */
    CLEANUP(close_fd_p) int inside = vm_jailer_root(root, j->q->name, j->jailed.size, j->inside);
    r = inside < 0 ? inside : hang_files(j, inside);
    CLEANUP(close_fd_p) int usr = r < 0 || j->jailed.is_static ? NO_FD : mount_clone(root, "usr");
    if (r >= 0 && !j->jailed.is_static)
        r = usr < 0 ? usr : hang_usr(inside, usr);
    return r < 0 ? r : vm_jailer_proc(root);
}

static int enter_root(struct jail *j, struct err *err)
{
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        return err_sys(err, -errno, "make mounts private");
    CLEANUP(close_fd_p) int place = open(ROOT_PLACE, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int r = place < 0 ? -errno : 0;
    CLEANUP(close_fd_p) int fs = mount_fs_open("tmpfs");
    if (r >= 0)
        r = fs < 0 ? fs : mount_fs_string(fs, "mode", "0755");
    if (r >= 0)
        r = mount_fs_string(fs, "size", "64k");
    CLEANUP(close_fd_p) int root = r < 0 ? r : mount_fs_make(fs, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
    r = root < 0 ? root : mount_attach(root, place);
    if (r >= 0)
        r = fill_root(j, root);
    if (r < 0)
        return err_sys(err, r, "build the VMM's root");
    if (fchdir(root) < 0 || syscall(SYS_pivot_root, ".", ".") < 0 || umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
        return err_sys(err, -errno, "enter the VMM's root");
    r = mount_set(root, MOUNT_ATTR_RDONLY, NO_FD);
    return r < 0 ? err_sys(err, r, "seal the VMM's root") : 0;
}

/* Moves the descriptor above the numbers that are about to be assigned. */
static int raise_fd(int *fd)
{
    *fd = fcntl(*fd, F_DUPFD_CLOEXEC, FD_ABOVE);
    return *fd < 0 ? -errno : 0;
}

/* Opens the console of VMMs that write it to standard output: a non-blocking pipe in the VM's folder. Output that
 * nobody reads is lost. */
static int open_console(const struct jail *j)
{
    char path[VM_JAILER_ROOM_MAX + 32];
    (void)snprintf(path, sizeof(path), "%s" VMM_BOX_PATH "/" VMM_CONSOLE_NAME, j->inside);
    if (mkfifo(path, 0600) < 0 || chmod(path, 0666) < 0)
        return -errno;
    int fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
    int r = fd < 0 ? -errno : raise_fd(&fd);
    return r < 0 ? r : fd;
}

/* In the VMM's own network namespace. A VMM that gets them by descriptor has no device node in its root. */
static int open_taps(struct jail *j)
{
    if (!(j->q->flags & VM_TOOL_WIRE_TAPS))
        return 0;
    for (unsigned i = 0; i < VM_TOOL_WIRE_NICS; i++) {
        int r = j->vmm->has_vsock ? vm_tap_keep(i, j->uid) : vm_tap_open(i);
        if (r < 0)
            return r;
        if (!j->vmm->has_vsock)
            j->taps[j->n_taps++] = r;
    }
    return 0;
}

/* Moves the descriptors of the request to their numbers and closes all others. */
static int place_fds(struct jail *j)
{
    bool has_names = j->vmm->has_vsock; /* it opens everything by name in its root */
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    int r = null < 0 ? -errno : raise_fd(&null);
    if (r >= 0)
        r = raise_fd(&j->report);
    if (r >= 0)
        r = raise_fd(&j->complaints);
    for (int i = 0; r >= 0 && !has_names && i < VM_TOOL_WIRE_FD_BOX; i++)
        r = raise_fd(&j->fds[i]);
    for (int i = 0; r >= 0 && i < j->n_taps; i++)
        r = raise_fd(&j->taps[i]);
    for (int i = 0; r >= 0 && !has_names && i < VM_TOOL_WIRE_FD_BOX; i++)
        r = dup2(j->fds[i], VMM_FD(i)) < 0 ? -errno : 0;
    for (int i = 0; r >= 0 && i < j->n_taps; i++)
        r = dup2(j->taps[i], VMM_TAP_FD(i)) < 0 ? -errno : 0;
    int console = r < 0 ? r : has_names ? open_console(j) : null;
    if (console < 0)
        return console;
    if (dup2(null, 0) < 0 || dup2(console, 1) < 0 || dup2(j->complaints, 2) < 0 || dup3(j->report, 3, O_CLOEXEC) < 0)
        return -errno;
    j->report = 3;
    for (int fd = 4; fd < VMM_FD(0); fd++)
        (void)close(fd); /* most are not open */
    return proc_close_from(has_names ? VMM_FD(0) : VMM_TAP_FD(j->n_taps));
}

static int child_confine(struct jail *j, struct err *err)
{
    struct rlimit core = { 0, 0 };
    struct confine_who who = { .uid = j->is_root ? j->uid : 0, .gid = j->is_root ? j->uid : 0 };
    sigset_t none;
    struct stat kvm;
    if (j->is_root && j->kvm >= 0 && stat("/dev/kvm", &kvm) == 0 && kvm.st_gid != 0) {
        who.has_group = true; /* the group that may use KVM */
        who.group = kvm.st_gid;
    }
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)umask(j->vmm->has_vsock ? 0 : 077); /* the daemon connects to the sockets that it makes in its folder */
    struct rlimit files_most;
    if (setsid() < 0 || setrlimit(RLIMIT_CORE, &core) < 0 || getrlimit(RLIMIT_NOFILE, &files_most) < 0)
        return err_sys(err, -errno, "set the VMM's limits");
    if (files_most.rlim_max > NOFILE) /* not above the server's own limit: a VM needs few */
        files_most.rlim_max = NOFILE;
    files_most.rlim_cur = files_most.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &files_most) < 0)
        return err_sys(err, -errno, "set the VMM's limits");
    int r = place_fds(j);
    if (r < 0)
        return err_sys(err, r, "hand over descriptors");
    return has_jailer(j) ? vm_jailer_confine(err) : confine_identity(&who, 0, err);
}

static int become_vmm(struct jail *j, const char *program, struct vmm_args *args, struct err *err)
{
    static char *const no_env[] = { NULL };
    int r = 0;
    if (!j->is_root && (r = map_self(j->uid, j->gid)) < 0)
        return err_sys(err, r, "map the user");
    r = cgroup_join_self(&j->join);
    if (r < 0)
        return err_sys(err, r, "join the control group");
    if ((r = open_taps(j)) < 0)
        return err_sys(err, r, "make the VM's interfaces with " VM_TAP_DEVICE);
    r = j->is_root ? 0 : clone_mounts(j, err);
    if (r >= 0)
        r = enter_root(j, err);
    if (r >= 0)
        r = child_confine(j, err);
    if (r >= 0 && !has_jailer(j) && (r = filter_install(&j->filter)) < 0) /* a jailer still has to mount */
        return err_sys(err, r, "install the system call filter");
    if (r < 0)
        return r;
    (void)execve(program, args->list, no_env);
    return err_sys(err, -errno, "start %s", program);
}

static const char *find_program(const char *name, char *buf, size_t size)
{
    static const char *const folders[] = { "/usr/bin", "/usr/local/bin", "/usr/sbin" };
    for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
        (void)snprintf(buf, size, "%s/%s", folders[i], name);
        if (access(buf, X_OK) == 0)
            return buf;
    }
    return NULL;
}

/* The id is derived from the random name. Two VMs with the same id still cannot see each other's files and
 * processes. */
uid_t vm_jail_uid_of(const char *name)
{
    return VM_JAIL_UID_BASE + (uid_t)(strtoull(name, NULL, 16) % VM_JAIL_UIDS);
}

static int wait_for_exec(int report, struct err *err)
{
    struct err child = ERR_INIT;
    ssize_t n;
    do
        n = read(report, &child, sizeof(child));
    while (n < 0 && errno == EINTR);
    if (n == 0)
        return 0;
    if (n != (ssize_t)sizeof(child))
        return err_sys(err, -EIO, "wait for the VMM's start");
    child.msg[sizeof(child.msg) - 1] = '\0';
    return err_set(err, child.code, 0, "%s", child.msg);
}

static int child_launch(struct jail *j, const char *program, struct vmm_args *args, int fds_back[], struct err *err)
{
    int pipe_fds[2], complaints[2];
    uint64_t flags = CLONE_PARENT | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS;
    if (pipe2(pipe_fds, O_CLOEXEC) < 0 || pipe2(complaints, O_CLOEXEC | O_NONBLOCK) < 0)
        return err_sys(err, -errno, "make a pipe");
    fds_back[VM_TOOL_WIRE_REPLY_ERRORS] = complaints[0];
    j->complaints = complaints[1];
    j->report = pipe_fds[1];
    pid_t pid =
        proc_clone(flags | (j->is_root ? 0 : CLONE_NEWUSER), j->join.clone_into, &fds_back[VM_TOOL_WIRE_REPLY_PIDFD]);
    if (pid == 0) {
        struct err why = ERR_INIT;
        (void)become_vmm(j, program, args, &why);
        _exit(write(j->report, &why, sizeof(why)) < 0 ? 126 : 127); /* there is nobody else to report to */
    }
    (void)close(pipe_fds[1]); /* both are the child's */
    (void)close(complaints[1]);
    int r = pid < 0 ? err_set(err, pid == -EAGAIN ? ERR_CAPACITY : ERR_INTERNAL, -pid, "start a process")
                    : wait_for_exec(pipe_fds[0], err);
    (void)close(pipe_fds[0]); /* read to its end */
    return r < 0 ? r : pid;
}

/* The program to exec. One that the operator sets, and this program itself, are mounted into the root. */
static const char *pick_program(struct jail *j, const struct vm_jail_site *site, char *buf, size_t size)
{
    const char *given = j->q->vmm == VM_TOOL_WIRE_FIRECRACKER ? site->firecracker : "";
    if (j->q->vmm == VM_TOOL_WIRE_FIRECRACKER && vm_jailer_is_wanted(site->jailer)) {
        j->extra_from[EXTRA_JAILER] = site->jailer;
        j->extra_from[EXTRA_JAILED] = *given ? given : find_program(j->vmm->program, buf, size);
        return j->extra_from[EXTRA_JAILED] ? VM_JAILER_PATH : NULL;
    }
    if (j->q->vmm == VM_TOOL_WIRE_KRUN) { /* by path: by its descriptor it cannot be cloned elsewhere */
        ssize_t n = readlink("/proc/self/exe", buf, size - 1);
        if (n < 0)
            return NULL;
        buf[n] = '\0';
        given = buf;
        j->extra_from[EXTRA_LIBRARY] = *site->libkrun ? site->libkrun : NULL;
    }
    if (!*given)
        return find_program(j->vmm->program, buf, size);
    j->extra_from[EXTRA_PROGRAM] = given;
    return VMM_PROGRAM_PATH;
}

int vm_jail_start(const struct vm_jail_plan *plan, struct vm_tool_wire_reply *ret, int fds_back[VM_TOOL_WIRE_REPLY_FDS],
                  struct err *err)
{
    const struct vm_tool_wire_request *q = plan->q;
    const struct cgroup *group = plan->group;
    struct jail j = { .q = q, .vmm = vmm_by_number(q->vmm), .is_root = geteuid() == 0, .kvm = NO_FD, .tun = NO_FD };
    struct vmm_args args = { 0 };
    char where[4096], line[VMM_LINE_MAX];
    const char *program = j.vmm ? pick_program(&j, plan->site, where, sizeof(where)) : NULL;
    if (!program)
        return err_set(err, ERR_UNSUPPORTED, 0, "%s is not installed", j.vmm ? j.vmm->program : "this VMM");
    memcpy(j.fds, plan->fds, sizeof(j.fds));
    j.uid = j.is_root ? vm_jail_uid_of(q->name) : getuid();
    j.gid = j.is_root ? j.uid : getgid();
    if (has_jailer(&j) && (vm_jailer_check(plan->site->jailer, j.is_root, err) < 0 ||
                           vm_jailer_look(j.extra_from[EXTRA_JAILED], &j.jailed, err) < 0))
        return -EOPNOTSUPP;
    vmm_command_line(j.vmm, q->flags & VM_TOOL_WIRE_KVM, line);
    if (has_jailer(&j))
        vm_jailer_argv(q->name, j.uid, NOFILE, &args);
    else
        j.vmm->argv(q, line, &args);
    int r = args.is_full ? err_set(err, ERR_INTERNAL, E2BIG, "the VMM's command line is too long") : 0;
    if (r >= 0)
        r = filter_build(&j.filter, err); /* the filter for commands; a VMM's own filter comes on top */
    if (r >= 0)
        r = group ? cgroup_join_open(group, &j.join, err) : (j.join.clone_into = NO_FD, 0);
    if (r >= 0 && j.is_root)
        r = clone_mounts(&j, err);
    if (r >= 0)
        r = child_launch(&j, program, &args, fds_back, err);
    cgroup_join_done(&j.join);
    filter_done(&j.filter);
    vmm_args_done(&args);
    if (r < 0)
        return r;
    ret->pid = r;
    ret->start_time = proc_start_time(r);
    return 0;
}
