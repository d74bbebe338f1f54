/* Theory of operation. A probe boots one guest from the kit under QEMU with empty drives in memory files, and waits for
 * the agent's reply to a handshake. With KVM first, when the CPU and /dev/kvm look usable; else, or when that fails,
 * emulated.
 *
 * `struct guest` owns the VMM process and our ends of its sockets; guest_done() kills and reaps it on every path, and
 * the VMM dies with its parent (PR_SET_PDEATHSIG). The last bytes of the console explain a failure.
 *
 * The result is written to probe.json in the kit with the host's boot id and the kit's key: a result of another boot
 * or kit is ignored. Root never follows names in a folder of another user: it first becomes the owner of the kit
 * (vm_probe_become_owner), and permanently so when a server asks (vm_probe_confine). */
#include "vm/boot/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/kvm.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/ident.h"
#include "base/json.h"
#include "os/confine.h"
#include "os/proc.h"
#include "os/program.h"
#include "os/vm_handshake.h"
#include "vm/boot/disk.h"
#include "vm/boot/mkerofs.h"
#include "vm/vmm/vmm.h"

#define VMM         "qemu-system-x86_64"
#define MEMORY      "256M"
#define KVM_MS      20000 /* a working one takes less than one second */
#define TCG_MS      120000
#define CONSOLE_MAX 4096 /* bytes of the console that are kept: the last ones */
#define FILE_NAME   "probe.json"

enum { FD_BASE = 3, FD_DISK, FD_AGENT, FD_CONSOLE, FD_END }; /* as the VMM sees them */

#define DRIVE(name, set, is_readonly)                                                                        \
    "driver=raw,node-name=" name ",read-only=" is_readonly ",file.driver=file,file.filename=/dev/fdset/" set \
    ",file.locking=off,file.read-only=" is_readonly
static const char base_drive[] = DRIVE("base", "1", "on"), disk_drive[] = DRIVE("disk", "2", "off");

/* --- what the host supports --- */

static bool has_cpu_flag(void)
{
    char line[4096]; /* the flags are one line of about 1,500 bytes */
    bool is_found = false;
    FILE *f = fopen("/proc/cpuinfo", "re");
    while (f && !is_found && fgets(line, sizeof(line), f))
        is_found = strncmp(line, "flags", 5) == 0 && (strstr(line, " vmx") || strstr(line, " svm"));
    if (f)
        (void)fclose(f); /* read only */
    return is_found;
}

/* A VMM that root starts runs as an unnamed user: it needs access by the device's group or by "others". */
static bool is_for_root_only(int kvm)
{
    struct stat st;
    if (geteuid() != 0 || fstat(kvm, &st) < 0 || (st.st_mode & 0006) == 0006)
        return false;
    return (st.st_mode & 0060) != 0060 || st.st_gid == 0;
}

bool vm_probe_may_kvm(char *why, size_t size)
{
    why[0] = '\0';
    CLEANUP(close_fd_p) int kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC);
    int sys = errno;
    if (!has_cpu_flag())
        (void)snprintf(why, size, "the CPU shows neither vmx nor svm%s",
                       kvm >= 0 ? ", though there is a /dev/kvm" : "");
    else if (kvm < 0)
        (void)snprintf(why, size, "/dev/kvm: %s%s", strerror(sys),
                       sys == EACCES ? " (is this user in its group?)" : "");
    else if (ioctl(kvm, KVM_GET_API_VERSION, 0) != KVM_API_VERSION)
        (void)snprintf(why, size, "/dev/kvm is not KVM");
    else if (is_for_root_only(kvm))
        (void)snprintf(why, size,
                       "only root may use /dev/kvm, and no VMM is root: chgrp kvm /dev/kvm, chmod 660 /dev/kvm");
    return why[0] == '\0';
}

/* --- one guest --- */

struct guest {
    int base, disk;           /* memory files */
    int agent[2], console[2]; /* ours is the first of each pair */
    int pidfd;
    pid_t pid;
    char said[CONSOLE_MAX + 1];
    size_t n_said;
};

static void guest_done(struct guest *g)
{
    if (g->pid > 0) {
        (void)proc_signal(g->pidfd, SIGKILL); /* already gone is fine */
        (void)waitpid(g->pid, NULL, 0);       /* our child, and killed */
    }
    const int fds[] = { g->base, g->disk, g->agent[0], g->agent[1], g->console[0], g->console[1], g->pidfd };
    for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++)
        close_fd_p(&fds[i]);
}

static int make_drives(struct guest *g, struct err *err)
{
    char path[32]; /* QEMU opens a drive in the mode of its descriptor: a read-only drive needs a read-only one */
    CLEANUP(close_fd_p) int base = memfd_create("base", MFD_CLOEXEC);
    g->disk = memfd_create("disk", MFD_CLOEXEC);
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", base);
    g->base = base < 0 ? NO_FD : open(path, O_RDONLY | O_CLOEXEC);
    if (g->base < 0 || g->disk < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, g->agent) < 0 ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, g->console) < 0)
        return err_sys(err, -errno, "make the drives of a guest");
    int r = mkerofs_empty(base); /* the probe tests the kernel and the agent, so an empty root is enough */
    return r < 0 ? err_sys(err, r, "make the drives of a guest") : vm_disk_make(g->disk, VM_DISK_MB_MIN, err);
}

__attribute__((noreturn)) static void become_vmm(struct guest *g, const char *path, const struct vm_kit *k, bool is_kvm)
{
    char line[VMM_LINE_MAX];
    vmm_command_line(&qemu_ops, is_kvm, line);
    const char *const argv[] = { VMM,
                                 "-machine",
                                 "microvm,pit=on,pic=on,rtc=on,acpi=on,isa-serial=on",
                                 "-accel",
                                 is_kvm ? "kvm" : "tcg",
                                 "-cpu",
                                 is_kvm ? "host" : "max",
                                 "-m",
                                 MEMORY,
                                 "-nodefaults",
                                 "-no-user-config",
                                 "-no-reboot",
                                 "-display",
                                 "none",
                                 "-sandbox",
                                 "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny",
                                 "-kernel",
                                 k->kernel,
                                 "-initrd",
                                 k->initramfs,
                                 "-append",
                                 line,
                                 "-device",
                                 "virtio-rng-device",
                                 "-add-fd",
                                 "fd=3,set=1",
                                 "-add-fd",
                                 "fd=4,set=2",
                                 "-blockdev",
                                 base_drive,
                                 "-device",
                                 "virtio-blk-device,drive=base",
                                 "-blockdev",
                                 disk_drive,
                                 "-device",
                                 "virtio-blk-device,drive=disk",
                                 "-chardev",
                                 "socket,id=agent,fd=5",
                                 "-device",
                                 "virtio-serial-device",
                                 "-device",
                                 "virtserialport,chardev=agent,name=agent,nr=1",
                                 "-chardev",
                                 "null,id=notes",
                                 "-device",
                                 "virtserialport,chardev=notes,name=notes,nr=2",
                                 "-chardev",
                                 "socket,id=console,fd=6",
                                 "-serial",
                                 "chardev:console",
                                 NULL };
    const int wanted[] = { g->base, g->disk, g->agent[1], g->console[1] };
    int high[FD_END - FD_BASE], null = open("/dev/null", O_RDWR | O_CLOEXEC);
    static char *const envp[] = { NULL };
    for (int i = 0; i < FD_END - FD_BASE; i++) /* above the numbers that dup2() below takes */
        if ((high[i] = fcntl(wanted[i], F_DUPFD_CLOEXEC, 16)) < 0)
            _exit(126);
    (void)setsid();                            /* a key pressed in our terminal must not signal it */
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0); /* it dies with us */
    int r = null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(high[FD_CONSOLE - FD_BASE], 2) < 0 ? -1 : 0;
    for (int i = 0; r == 0 && i < FD_END - FD_BASE; i++)
        r = dup2(high[i], FD_BASE + i) < 0 ? -1 : 0;
    if (r < 0 || proc_close_from(FD_END) < 0)
        _exit(126);
    (void)execve(path, (char *const *)(uintptr_t)argv, envp);
    _exit(127);
}

/* Reads what the VMM and the kernel print and keeps the last bytes. */
static void console_read(struct guest *g)
{
    char chunk[CONSOLE_MAX];
    ssize_t n = recv(g->console[0], chunk, sizeof(chunk), MSG_DONTWAIT);
    if (n <= 0)
        return;
    size_t over = g->n_said + (size_t)n > CONSOLE_MAX ? g->n_said + (size_t)n - CONSOLE_MAX : 0;
    memmove(g->said, g->said + over, g->n_said - over);
    g->n_said -= over;
    for (ssize_t i = 0; i < n; i++) { /* bytes of a guest must not reach a terminal */
        unsigned char c = (unsigned char)chunk[i];
        g->said[g->n_said++] = c >= ' ' && c < 127 ? (char)c : ' ';
    }
    g->said[g->n_said] = '\0';
}

/* The console text from the agent's or the kernel's error message on, else its end. */
static const char *console_tail(struct guest *g)
{
    static const char *const marks[] = { "iii-guest: ", "Kernel panic" };
    size_t shown = 200; /* what fits into struct err's message */
    char *text = g->said + (g->n_said > shown ? g->n_said - shown : 0);
    for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++) {
        char *at = strstr(g->said, marks[i]);
        if (!at)
            continue;
        at[strlen(at) > shown ? shown : strlen(at)] = '\0';
        return at;
    }
    return *text ? text : "nothing";
}

/* Any bytes may precede the reply: see os/vm_handshake.h. */
static int find_reply(struct buf *in, uint64_t nonce, struct err *err)
{
    struct vm_handshake_reply reply;
    const char *at = in->len == 0 ? NULL : memmem(in->data, in->len, VM_HANDSHAKE_MAGIC, VM_HANDSHAKE_MAGIC_LEN);
    if (!at || in->len - (size_t)(at - in->data) < sizeof(reply))
        return 0;
    memcpy(&reply, at, sizeof(reply));
    reply.text[sizeof(reply.text) - 1] = '\0';
    if (reply.version != VM_HANDSHAKE_VERSION || reply.nonce != nonce)
        return err_set(err, ERR_UPSTREAM, EBADMSG, "the guest's agent is of another version");
    if (reply.result < 0)
        return err_set(err, ERR_UPSTREAM, -reply.result, "the guest's agent failed: %.200s", reply.text);
    return 1;
}

static int guest_send_handshake(const struct guest *g, uint64_t *ret_nonce)
{
    struct vm_handshake handshake = {
        .version = VM_HANDSHAKE_VERSION, .what = VM_HANDSHAKE_ENTER, .nofile = 1024, .shm_mb = 8
    };
    memcpy(handshake.magic, VM_HANDSHAKE_MAGIC, VM_HANDSHAKE_MAGIC_LEN);
    memcpy(handshake.hostname, "probe", sizeof("probe"));
    memcpy(handshake.workdir, "/", sizeof("/"));
    ident_random(&handshake.nonce, sizeof(handshake.nonce));
    ident_random(handshake.token, sizeof(handshake.token));
    ident_random(handshake.seed, sizeof(handshake.seed));
    handshake.realtime_ns = (uint64_t)clock_wall_ms() * 1000000u;
    *ret_nonce = handshake.nonce;
    return send(g->agent[0], &handshake, sizeof(handshake), MSG_NOSIGNAL) == (ssize_t)sizeof(handshake) ? 0 : -errno;
}

static int await_reply(struct guest *g, uint64_t nonce, int64_t limit_ms, struct err *err)
{
    char chunk[4096];
    int64_t until = clock_mono_us() + limit_ms * 1000;
    CLEANUP(buf_done) struct buf in = BUF_INIT(65536);
    for (;;) {
        struct pollfd fds[3] = { { g->pidfd, POLLIN, 0 }, { g->agent[0], POLLIN, 0 }, { g->console[0], POLLIN, 0 } };
        int64_t left = (until - clock_mono_us()) / 1000;
        if (left <= 0)
            return err_set(err, ERR_TIMEOUT, 0, "the guest did not answer in %lld s; its console: %s",
                           (long long)limit_ms / 1000, console_tail(g));
        if (poll(fds, 3, left > 1000 ? 1000 : (int)left) < 0 && errno != EINTR)
            return err_sys(err, -errno, "wait for a guest");
        console_read(g);
        ssize_t n = fds[1].revents ? recv(g->agent[0], chunk, sizeof(chunk), MSG_DONTWAIT) : 0;
        int r = n > 0 ? buf_add(&in, chunk, (size_t)n) : 0;
        r = r < 0 ? err_set(err, ERR_UPSTREAM, EBADMSG, "the guest's agent does not answer but sends other bytes")
                  : find_reply(&in, nonce, err);
        if (r != 0)
            return r < 0 ? r : 0;
        if (fds[0].revents)
            return err_set(err, ERR_UPSTREAM, 0, "the VM stopped; its console: %s", console_tail(g));
    }
}

int vm_probe_boot(const struct vm_kit *k, bool is_kvm, int64_t limit_ms, int64_t *ret_ms, struct err *err)
{
    CLEANUP(guest_done)
    struct guest g = {
        .base = NO_FD, .disk = NO_FD, .agent = { NO_FD, NO_FD }, .console = { NO_FD, NO_FD }, .pidfd = NO_FD
    };
    char path[PROGRAM_PATH_MAX];
    uint64_t nonce = 0;
    if (!program_find(VMM, path))
        return err_set(err, ERR_UNSUPPORTED, 0, VMM " is missing: apt-get install qemu-system-x86");
    int r = make_drives(&g, err);
    if (r < 0)
        return r;
    int64_t begun = clock_mono_us();
    g.pid = proc_clone(0, NO_FD, &g.pidfd);
    if (g.pid == 0)
        become_vmm(&g, path, k, is_kvm);
    if (g.pid < 0)
        return err_sys(err, (int)g.pid, "start %s", path);
    (void)close(steal_fd(&g.agent[1]));
    (void)close(steal_fd(&g.console[1])); /* both are the VMM's */
    if ((r = guest_send_handshake(&g, &nonce)) < 0)
        return err_sys(err, r, "connect to a guest");
    if ((r = await_reply(&g, nonce, limit_ms, err)) < 0)
        return r;
    *ret_ms = (clock_mono_us() - begun) / 1000;
    return 0;
}

/* --- the owner of the kit --- */

/* False: the folder does not exist yet. */
static bool find_owner(const char *data_dir, struct confine_who *ret)
{
    struct stat st, kvm;
    CLEANUP(free_p) char *kit = xasprintf("%s/" VM_KIT_FOLDER, data_dir);
    CLEANUP(free_p) char *above = xasprintf("%s/vm", data_dir);
    bool has_group = stat("/dev/kvm", &kvm) == 0 && (kvm.st_mode & 0060) == 0060 && kvm.st_gid; /* else only root */
    if (lstat(kit, &st) < 0 && lstat(above, &st) < 0)
        return false;
    *ret = (struct confine_who){
        .uid = st.st_uid, .gid = st.st_gid, .has_group = has_group, .group = has_group ? kvm.st_gid : (gid_t)-1
    };
    return true;
}

int vm_probe_become_owner(const char *data_dir, struct err *err)
{
    struct confine_who who;
    if (geteuid() != 0 || !find_owner(data_dir, &who) || who.uid == 0)
        return 0;
    if (setgroups(who.has_group, &who.group) < 0 || setgid(who.gid) < 0 || setuid(who.uid) < 0)
        return err_sys(err, -errno, "become user %u, whose %s/" VM_KIT_FOLDER " is", (unsigned)who.uid, data_dir);
    return 0;
}

int vm_probe_confine(const char *data_dir, struct err *err)
{
    struct confine_who who;
    if (geteuid() != 0)
        return 0;
    if (!find_owner(data_dir, &who))
        return err_set(err, ERR_UNSUPPORTED, 0, "there is no %s/" VM_KIT_FOLDER ": run `iii vm setup`", data_dir);
    if (unshare(CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS) < 0)
        return err_sys(err, -errno, "leave the host's network");
    int r = confine_identity(&who, 0, err);
    if (r >= 0 && prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0) /* needed to reopen descriptors by /proc/self */
        r = err_sys(err, -errno, "look at itself");
    return r;
}

/* --- the result --- */

static void read_boot_id(char ret[64])
{
    CLEANUP(close_fd_p) int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, ret, 63);
    ret[n > 0 ? n : 0] = '\0';
    ret[strcspn(ret, "\n")] = '\0';
}

static int open_kit(const char *data_dir)
{
    char path[4096];
    int n = snprintf(path, sizeof(path), "%s/" VM_KIT_FOLDER, data_dir);
    if (n < 0 || (size_t)n >= sizeof(path))
        return -ENAMETOOLONG;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

bool vm_probe_known(const char *data_dir, const struct vm_kit *k, struct vm_probe *ret)
{
    char text[4096], boot[64];
    json_t *found = NULL;
    CLEANUP(close_fd_p) int kit = open_kit(data_dir);
    CLEANUP(close_fd_p) int fd = kit < 0 ? kit : openat(kit, FILE_NAME, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text));
    if (n <= 0 || json_read(text, (size_t)n, &found, NULL) < 0)
        return false;
    JSON_OWNED doc = found;
    read_boot_id(boot);
    if (strcmp(json_get_str(doc, "bootId", ""), boot) != 0 || strcmp(json_get_str(doc, "kit", ""), k->key) != 0)
        return false;
    *ret = (struct vm_probe){ .is_kvm = json_get_bool(doc, "kvm", false), .boot_ms = json_get_int(doc, "bootMs", 0) };
    (void)snprintf(ret->why, sizeof(ret->why), "%s", json_get_str(doc, "why", ""));
    return true;
}

static int probe_save(const char *data_dir, const struct vm_kit *k, const struct vm_probe *p)
{
    char boot[64];
    static const char temporary[] = "new-probe";
    read_boot_id(boot);
    JSON_OWNED doc = json_pack("{s:s, s:s, s:b, s:I, s:s}", "bootId", boot, "kit", k->key, "kvm", p->is_kvm, "bootMs",
                               (json_int_t)p->boot_ms, "why", p->why);
    size_t len = 0;
    CLEANUP(free_p) char *text = doc ? json_write(doc, &len) : NULL;
    CLEANUP(close_fd_p) int kit = open_kit(data_dir);
    if (kit < 0 || !text)
        return kit < 0 ? kit : -EINVAL;
    (void)unlinkat(kit, temporary, 0); /* left by a killed run */
    CLEANUP(close_fd_p) int fd = openat(kit, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd < 0 || write(fd, text, len) != (ssize_t)len || renameat(kit, temporary, kit, FILE_NAME) < 0)
        return -errno;
    return 0;
}

static void try_kvm(const struct vm_kit *k, struct vm_probe *p)
{
    struct err err = ERR_INIT;
    p->is_kvm = vm_probe_may_kvm(p->why, sizeof(p->why));
    if (p->is_kvm && vm_probe_boot(k, true, KVM_MS, &p->boot_ms, &err) < 0) {
        p->is_kvm = false;
        (void)snprintf(p->why, sizeof(p->why), "a guest did not boot with KVM: %.200s", err.msg);
    }
}

int vm_probe_refresh(const char *data_dir, const struct vm_kit *k, struct err *err)
{
    struct vm_probe p = { 0 };
    try_kvm(k, &p);
    int r = probe_save(data_dir, k, &p);
    return r < 0 ? err_sys(err, r, "keep what the probe found in " VM_KIT_FOLDER) : 0;
}

int vm_probe_run(const char *data_dir, const struct vm_kit *k, struct vm_probe *ret, struct err *err)
{
    struct vm_probe p = { 0 };
    try_kvm(k, &p);
    int r = p.is_kvm ? 0 : vm_probe_boot(k, false, TCG_MS, &p.boot_ms, err);
    if (r >= 0 && (r = probe_save(data_dir, k, &p)) < 0)
        return err_sys(err, r, "keep what the probe found in " VM_KIT_FOLDER);
    if (r >= 0)
        *ret = p;
    return r;
}
